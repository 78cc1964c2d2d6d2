/** The card about the body that was picked. */
import { Quaternion, Vector3 } from "three";
import { h, iconButton, setText, short } from "../dom";
import { POSE, type Scene } from "../protocol";
import { label } from "../scene-data";
import type { SceneView } from "../scene";
import type { Shown } from "../session";

const JOINTS_SHOWN = 8;

/** Components of one vector: what is nothing beside the others is zero. */
function list(values: number[]): string {
  const largest = Math.max(...values.map(Math.abs));
  return values.map((value) => short(Math.abs(value) < 1e-4 * Math.max(largest, 1) ? 0 : value)).join("  ");
}

export class SelectionCard {
  readonly element = h("aside", { class: "glass selection", "aria-label": "Selected body", hidden: true });
  private readonly fields = new Map<string, HTMLElement>();
  private scene: Scene | null = null;
  private body = -1;
  private readonly followButton: HTMLButtonElement;
  private readonly title = h("h2", {});
  private readonly subtitle = h("p", { class: "sub" });
  private readonly list = h("dl", { class: "facts" });

  private previousTime = NaN;
  private readonly previous = new Float64Array(7);
  private readonly velocity = new Vector3();
  private readonly spin = new Vector3();
  private readonly turn = new Quaternion();
  private readonly before = new Quaternion();

  constructor(close: () => void, follow: () => void) {
    this.followButton = h("button", { type: "button", class: "small", "aria-pressed": "false", onclick: follow }, "Follow");
    this.element.append(
      h("header", {}, h("div", { class: "titles" }, this.title, this.subtitle), this.followButton, iconButton("close", "Deselect", close, "Esc")),
      this.list,
    );
  }

  select(scene: Scene | null, body: number): void {
    this.scene = scene;
    this.body = body;
    this.previousTime = NaN;
    this.velocity.set(0, 0, 0);
    this.spin.set(0, 0, 0);
    this.element.hidden = !scene || body <= 0;
    if (!scene || body <= 0) return;
    const { name, parent, mass } = scene.bodies[body];
    setText(this.title, label(name, "body", body));
    this.title.title = this.title.textContent ?? "";
    setText(this.subtitle, `body ${body}, on ${parent === 0 ? "the world" : label(scene.bodies[parent]?.name, "body", parent)}`);
    this.subtitle.title = this.subtitle.textContent ?? "";
    this.fields.clear();
    this.list.replaceChildren();
    this.field("position", "Position", "m");
    this.field("orientation", "Quaternion", "");
    this.field("velocity", "Velocity", "m/s");
    this.field("spin", "Spin", "rad/s");
    setText(this.field("mass", "Mass", "kg"), short(mass));
    this.jointsOf(scene, body).forEach(({ joint, index }) => {
      const unit = joint.kind === "hinge" ? "rad" : joint.kind === "slide" ? "m" : joint.kind;
      this.field(`joint ${index}`, label(joint.name, joint.kind, index), unit);
    });
  }

  private jointsOf(scene: Scene, body: number) {
    return scene.joints
      .map((joint, index) => ({ joint, index }))
      .filter(({ joint }) => joint.body === body && joint.kind !== "free") // A free joint's value is the pose.
      .slice(0, JOINTS_SHOWN);
  }

  private field(key: string, text: string, unit: string): HTMLElement {
    const value = h("dd", {});
    this.list.append(h("dt", { title: text }, text, h("span", { class: "unit" }, ` ${unit}`)), value);
    this.fields.set(key, value);
    return value;
  }

  private put(key: string, text: string): void {
    const field = this.fields.get(key);
    if (field) setText(field, text);
  }

  setFollowing(on: boolean): void {
    this.followButton.setAttribute("aria-pressed", String(on));
  }

  update(view: SceneView, shown: Shown, live: boolean): void {
    const { scene, body } = this;
    if (!scene || body <= 0) return;
    const { position, quaternion } = view.bodies[body];
    this.put("position", list([position.x, position.y, position.z]));
    this.put("orientation", list([quaternion.w, quaternion.x, quaternion.y, quaternion.z]));
    if (live) this.estimateLive(shown);
    else this.estimateRecorded(shown);
    this.put("velocity", list(this.velocity.toArray()));
    this.put("spin", list(this.spin.toArray()));
    for (const { joint, index } of this.jointsOf(scene, body)) {
      const size = joint.kind === "ball" ? 4 : 1;
      const { frame } = shown;
      this.put(`joint ${index}`, list([...frame.floats.subarray(frame.qposAt + joint.qpos, frame.qposAt + joint.qpos + size)]));
    }
  }

  /** From the last frame that differed in time to this one. */
  private estimateLive(shown: Shown): void {
    const { frame } = shown;
    const at = frame.poseAt + POSE * this.body;
    const elapsed = frame.time - this.previousTime;
    if (elapsed === 0) return;
    if (elapsed > 0) this.difference(this.previous, 0, frame.floats, at, elapsed);
    this.previousTime = frame.time;
    for (let k = 0; k < POSE; k++) this.previous[k] = frame.floats[at + k];
  }

  private estimateRecorded(shown: Shown): void {
    const { frame, next } = shown;
    const elapsed = next.time - frame.time;
    if (elapsed > 0) this.difference(frame.floats, frame.poseAt + POSE * this.body, next.floats, next.poseAt + POSE * this.body, elapsed);
  }

  private difference(a: ArrayLike<number>, from: number, b: ArrayLike<number>, to: number, elapsed: number): void {
    this.velocity.set(b[to] - a[from], b[to + 1] - a[from + 1], b[to + 2] - a[from + 2]).divideScalar(elapsed);
    this.turn.set(b[to + 4], b[to + 5], b[to + 6], b[to + 3]);
    this.before.set(a[from + 4], a[from + 5], a[from + 6], a[from + 3]).invert();
    this.turn.multiply(this.before);
    if (this.turn.w < 0) this.turn.set(-this.turn.x, -this.turn.y, -this.turn.z, -this.turn.w);
    this.spin.set(this.turn.x, this.turn.y, this.turn.z);
    const sine = this.spin.length();
    if (sine > 1e-12) this.spin.multiplyScalar((2 * Math.atan2(sine, this.turn.w)) / (sine * elapsed));
  }
}
