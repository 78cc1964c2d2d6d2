/** The tree of bodies: another way to pick one, also for the keyboard. */
import { h } from "../dom";
import type { Scene } from "../protocol";
import { label } from "../scene-data";
import { emptyNote, searchField } from "./slider";

export class BodiesPanel {
  readonly element = h("div", { class: "rows" });
  private buttons: HTMLButtonElement[] = [];

  constructor(private readonly pick: (body: number) => void) {}

  build(scene: Scene): void {
    const depths = scene.bodies.map(() => 0);
    this.buttons = scene.bodies.slice(1).map((body, k) => {
      const i = k + 1;
      depths[i] = body.parent > 0 && body.parent < i ? depths[body.parent] + 1 : 0;
      const name = label(body.name, "body", i);
      const button = h(
        "button",
        { type: "button", class: "body", "aria-pressed": "false", title: name, onclick: () => this.pick(i) },
        h("span", { class: "name" }, name),
        h("span", { class: "mass" }, body.mass > 0 ? `${Number(body.mass.toPrecision(3))} kg` : ""),
      );
      button.style.setProperty("--depth", String(Math.min(depths[i], 10)));
      return button;
    });
    if (this.buttons.length === 0) {
      this.element.replaceChildren(emptyNote("This model has no bodies but the world."));
      return;
    }
    const search = this.buttons.length > 8 ? [searchField("bodies", (text) => this.filter(text))] : [];
    this.element.replaceChildren(...search, h("section", { class: "tree" }, ...this.buttons));
  }

  private filter(text: string): void {
    for (const button of this.buttons) button.hidden = !(button.title.toLowerCase().includes(text));
  }

  select(body: number): void {
    this.buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k + 1 === body)));
  }
}
