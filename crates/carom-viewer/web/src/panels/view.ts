/** The panel of what is shown. */
import { h, short } from "../dom";
import type { Scene } from "../protocol";
import type { SettingsStore, Toggle } from "../settings";

const SHOWN: [Toggle, string, string][] = [
  ["contacts", "Contact points", "C"],
  ["forces", "Contact forces", "F"],
  ["joints", "Joint axes", "J"],
  ["centres", "Centres of mass", "M"],
  ["frames", "Body frames", "B"],
  ["tendons", "Tendons", "N"],
  ["sites", "Sites", "S"],
  ["gradients", "Gradient arrows", "G"],
];

const DRAWN: [Toggle, string, string][] = [
  ["transparent", "Transparent", "X"],
  ["wireframe", "Wireframe", "W"],
];

export class ViewPanel {
  readonly element = h("div", { class: "rows" });
  private readonly boxes = new Map<Toggle, HTMLInputElement>();
  private readonly rows = new Map<Toggle, HTMLElement>();
  private readonly groups: HTMLButtonElement[];
  private readonly scale: HTMLInputElement;
  private readonly facts = h("dl", { class: "facts" });

  constructor(private readonly store: SettingsStore) {
    const toggles = (list: [Toggle, string, string][]) => list.map(([key, text, shortcut]) => this.toggle(key, text, shortcut));
    this.groups = store.values.groups.map((_, i) =>
      h("button", { type: "button", class: "group", "aria-label": `Geom group ${i}`, title: `Geom group ${i} (${i})`, onclick: () => store.toggleGroup(i) }, String(i)),
    );
    this.scale = h("input", {
      type: "range",
      min: -1,
      max: 1,
      step: "any",
      "aria-label": "Length of arrows",
      oninput: () => store.set({ arrowScale: 10 ** Number(this.scale.value) }),
      ondblclick: () => store.set({ arrowScale: 1 }),
    });
    this.element.append(
      h("section", {}, h("h3", {}, "Show"), ...toggles(SHOWN)),
      h("section", {}, h("h3", {}, "Length of arrows"), h("div", { class: "slider bare" }, this.scale)),
      h("section", {}, h("h3", {}, "Draw"), ...toggles(DRAWN)),
      h("section", {}, h("h3", {}, "Geom groups"), h("div", { class: "groups" }, ...this.groups)),
      h("section", {}, h("h3", {}, "Model"), this.facts),
    );
    store.listen(() => this.refresh());
    this.refresh();
  }

  build(scene: Scene): void {
    const mass = scene.bodies.reduce((sum, body) => sum + (body.mass > 0 ? body.mass : 0), 0);
    const facts: [string, string][] = [
      ["Bodies", String(scene.bodies.length - 1)],
      ["Geoms", String(scene.geoms.length)],
      ["Degrees of freedom", String(scene.nv)],
      ["Actuators", String(scene.nu)],
      ["Mass", `${short(mass)} kg`],
      ["Time step", `${short(scene.timestep * 1000)} ms`],
    ];
    this.facts.replaceChildren(...facts.flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
    const absent: [Toggle, boolean][] = [
      ["tendons", scene.tendons.length === 0],
      ["sites", scene.sites.length === 0],
      ["gradients", !scene.has_gradients],
    ];
    for (const [key, hide] of absent) {
      const row = this.rows.get(key);
      if (row) row.hidden = hide;
    }
    const used = new Set([...scene.geoms, ...scene.sites].map((shape) => shape.group));
    this.groups.forEach((button, i) => button.classList.toggle("unused", !used.has(i)));
  }

  private toggle(key: Toggle, text: string, shortcut: string): HTMLElement {
    const box = h("input", { type: "checkbox", role: "switch", onchange: () => this.store.toggle(key) });
    this.boxes.set(key, box);
    const row = h("label", { class: "switch" }, h("span", {}, text), h("kbd", { "aria-hidden": "true" }, shortcut), box);
    this.rows.set(key, row);
    return row;
  }

  private refresh(): void {
    const { values } = this.store;
    for (const [key, box] of this.boxes) box.checked = values[key];
    this.groups.forEach((button, i) => button.setAttribute("aria-pressed", String(values.groups[i])));
    const at = Math.log10(values.arrowScale);
    this.scale.value = String(at);
    this.scale.style.setProperty("--zero", "50%");
    this.scale.style.setProperty("--at", `${50 + 50 * at}%`);
  }
}
