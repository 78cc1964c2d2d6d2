/** The panels of controls and of joints: sliders, grouped by body, searchable when many. */
import { h } from "../dom";
import type { Frame, Joint, Scene } from "../protocol";
import { label } from "../scene-data";
import type { Session } from "../session";
import { emptyNote, searchField, Slider } from "./slider";

const MANY = 8;

interface Row {
  slider: Slider;
  settable: boolean;
  text: string;
  read(frame: Frame): number;
}

interface Section {
  element: HTMLElement;
  rows: Row[];
}

/** Sliders that send at most one message per drawn frame each. */
abstract class SliderPanel {
  readonly element = h("div", { class: "rows" });
  protected sections: Section[] = [];
  private readonly pending = new Map<number, number>();
  private scheduled = false;

  constructor(protected readonly session: Session) {}

  protected abstract readonly what: string;
  protected abstract command(index: number, value: number): void;

  protected later(index: number, value: number): void {
    this.pending.set(index, value);
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      for (const [i, v] of this.pending) this.command(i, v);
      this.pending.clear();
    });
  }

  protected fill(head: HTMLElement[], empty: string): void {
    const count = this.sections.reduce((sum, section) => sum + section.rows.length, 0);
    this.element.replaceChildren(...head);
    if (count > MANY) this.element.append(searchField(this.what, (text) => this.filter(text)));
    for (const section of this.sections) this.element.append(section.element);
    if (this.element.childElementCount === 0) this.element.append(emptyNote(empty));
  }

  private filter(text: string): void {
    for (const section of this.sections) {
      let any = false;
      for (const row of section.rows) {
        const fits = row.text.includes(text);
        row.slider.element.hidden = !fits;
        any ||= fits;
      }
      section.element.hidden = !any;
    }
  }

  update(frame: Frame): void {
    const enabled = this.session.isLive;
    for (const section of this.sections) {
      for (const row of section.rows) {
        row.slider.setEnabled(enabled);
        row.slider.set(row.read(frame));
      }
    }
  }
}

export class ControlsPanel extends SliderPanel {
  protected readonly what = "controls";

  build(scene: Scene): void {
    const rows = scene.actuators.map((actuator, i): Row => {
      const name = label(actuator.name, "actuator", i);
      const slider = new Slider({
        label: name,
        unit: actuator.unit ?? "",
        range: usable(actuator.range) ?? [-1, 1],
        change: (value) => this.later(i, value),
      });
      return { slider, settable: true, text: name.toLowerCase(), read: (frame) => frame.floats[frame.ctrlAt + i] };
    });
    this.sections = rows.length > 0 ? [{ element: h("section", {}, ...rows.map((row) => row.slider.element)), rows }] : [];
    const zero = h("button", { type: "button", class: "small", onclick: () => scene.actuators.forEach((_, i) => this.later(i, 0)) }, "All to zero");
    const head = rows.length > 0 ? [h("div", { class: "row-head live-only" }, h("span", { class: "hint" }, "Double-click a slider for zero"), zero)] : [];
    this.fill(head, "This model has no actuators.");
  }

  protected command(index: number, value: number): void {
    this.session.send({ type: "control", index, value });
  }
}

export class JointsPanel extends SliderPanel {
  protected readonly what = "joints";

  build(scene: Scene): void {
    const byBody = new Map<number, [Joint, number][]>();
    scene.joints.forEach((joint, i) => {
      byBody.set(joint.body, [...(byBody.get(joint.body) ?? []), [joint, i]]);
    });
    this.sections = [...byBody].map(([body, joints]) => {
      const bodyName = label(scene.bodies[body].name, "body", body);
      const rows = joints.flatMap(([joint, i]) => this.rows(scene, joint, i, bodyName));
      return { element: h("section", {}, h("h3", { title: bodyName }, bodyName), ...rows.map((row) => row.slider.element)), rows };
    });
    // What can be set comes first; poses of free bodies are read elsewhere too.
    const settable = (section: Section) => section.rows.some((row) => row.settable);
    this.sections = [...this.sections.filter(settable), ...this.sections.filter((section) => !settable(section))];
    this.fill([], "This model has no joints: nothing in it moves.");
  }

  private rows(scene: Scene, joint: Joint, index: number, bodyName: string): Row[] {
    const name = label(joint.name, joint.kind, index);
    const row = (text: string, at: number, range: [number, number], unit: string, settable: boolean): Row => {
      const slider = new Slider({ label: text, unit, range, change: settable ? (value) => this.later(at, value) : undefined });
      if (!settable) slider.element.classList.add("gauge");
      return { slider, settable, text: `${text} ${bodyName}`.toLowerCase(), read: (frame) => frame.floats[frame.qposAt + at] };
    };
    const reach = 2 * scene.extent;
    switch (joint.kind) {
      case "hinge":
        return [row(name, joint.qpos, usable(joint.range) ?? [-Math.PI, Math.PI], "rad", true)];
      case "slide":
        return [row(name, joint.qpos, usable(joint.range) ?? [-reach / 2, reach / 2], "m", true)];
      case "free":
        return [
          ...["x", "y", "z"].map((axis, k) => row(`${name} ${axis}`, joint.qpos + k, [-reach, reach], "m", false)),
          ...["w", "x", "y", "z"].map((axis, k) => row(`${name} q${axis}`, joint.qpos + 3 + k, [-1, 1], "", false)),
        ];
      case "ball":
        return ["w", "x", "y", "z"].map((axis, k) => row(`${name} q${axis}`, joint.qpos + k, [-1, 1], "", false));
    }
  }

  protected command(index: number, value: number): void {
    this.session.send({ type: "qpos", index, value });
  }
}

/** A range that a slider can have. */
function usable(range: number[] | null): [number, number] | null {
  return range && Number.isFinite(range[0]) && Number.isFinite(range[1]) && range[1] > range[0] ? [range[0], range[1]] : null;
}
