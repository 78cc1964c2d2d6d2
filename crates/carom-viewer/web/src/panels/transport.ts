/** The bar at the bottom: play and step, speed, keyframes or the scrubber, and the line of status. */
import { h, iconButton, setIcon, setLabel, setText, short } from "../dom";
import { SPEEDS } from "../playback";
import type { Session } from "../session";

export class Transport {
  readonly element: HTMLElement;
  private readonly play: HTMLButtonElement;
  private readonly back: HTMLButtonElement;
  private readonly loop: HTMLButtonElement;
  private readonly live: HTMLButtonElement;
  private readonly speed: HTMLSelectElement;
  private readonly keyframe: HTMLSelectElement;
  private readonly scrubber: HTMLInputElement;
  private readonly now = h("span", {});
  private readonly total = h("span", { class: "total" });
  private readonly time = h("output", { class: "time", "aria-label": "Time" }, this.now, this.total);
  private readonly factor = h("span", { class: "chip", title: "Simulated seconds per second" });
  private readonly rate = h("span", { class: "chip", title: "Pictures per second" });
  private readonly contacts = h("span", { class: "chip" });

  constructor(private readonly session: Session) {
    this.play = iconButton("play", "Play", () => session.togglePlay(), "Space");
    this.play.classList.add("primary");
    this.back = iconButton("previous", "Step back", () => session.step(-1), "←");
    const step = iconButton("next", "Step", () => session.step(1), "→");
    const reset = iconButton("reset", "Reset", () => session.reset(), "R");
    this.loop = iconButton("loop", "Loop", () => session.setLoop(!session.playback?.loop), "L");
    this.live = h("button", { type: "button", class: "small", onclick: () => session.backToLive() }, "Back to live");
    this.speed = h("select", { "aria-label": "Speed", title: "Speed ([ and ])", onchange: () => session.setSpeed(Number(this.speed.value)) });
    this.fillSpeeds(1);
    this.keyframe = h("select", { "aria-label": "Keyframe", class: "keyframes", onchange: () => this.chooseKeyframe() });
    this.scrubber = h("input", {
      type: "range",
      class: "scrubber",
      step: "any",
      "aria-label": "Time",
      onpointerdown: () => session.pause(),
      oninput: () => session.seek(Number(this.scrubber.value)),
    });
    this.element = h(
      "footer",
      { class: "glass transport", "aria-label": "Playback" },
      h("div", { class: "buttons" }, reset, this.back, this.play, step, this.loop),
      this.scrubber,
      this.time,
      this.speed,
      this.keyframe,
      this.live,
      h("div", { class: "chips" }, this.factor, this.rate, this.contacts),
    );
  }

  private fillSpeeds(extra: number): void {
    const speeds = SPEEDS.includes(extra) ? SPEEDS : [...SPEEDS, extra].sort((a, b) => a - b);
    this.speed.replaceChildren(...speeds.map((speed) => h("option", { value: speed }, `${short(speed, 3).replace(/\.?0+$/, "")}×`)));
    this.speed.value = String(extra);
  }

  private chooseKeyframe(): void {
    if (this.keyframe.value !== "") this.session.send({ type: "keyframe", index: Number(this.keyframe.value) });
    this.keyframe.value = "";
  }

  /** After changes of mode, pause, speed or model. */
  refresh(): void {
    const { session } = this;
    const recorded = session.mode === "recording";
    // A single moment cannot be played.
    const still = recorded && session.playback !== null && session.playback.end <= session.playback.start;
    this.element.hidden = session.scene === null || still;
    this.element.classList.toggle("recorded", recorded);
    setIcon(this.play, session.paused ? "play" : "pause");
    setLabel(this.play, session.paused ? "Play" : "Pause", "Space");
    if (Number(this.speed.value) !== session.speed) this.fillSpeeds(session.speed);
    this.back.hidden = this.loop.hidden = this.scrubber.hidden = !recorded;
    this.loop.setAttribute("aria-pressed", String(session.playback?.loop ?? false));
    this.live.hidden = !session.canGoLive;
    const keyframes = session.scene?.keyframes ?? [];
    this.keyframe.hidden = recorded || keyframes.length === 0;
    if (this.keyframe.childElementCount !== keyframes.length + 1) {
      const names = keyframes.map((name, i) => h("option", { value: i }, name || `keyframe ${i}`));
      this.keyframe.replaceChildren(h("option", { value: "" }, "Keyframe…"), ...names);
    }
    if (session.playback) {
      this.scrubber.min = String(session.playback.start);
      this.scrubber.max = String(session.playback.end);
    }
    this.update(NaN);
  }

  /** After every frame. */
  update(fps: number): void {
    const { session } = this;
    const { playback } = session;
    const recorded = session.mode === "recording" && playback !== null;
    setText(this.now, session.time.toFixed(3));
    setText(this.total, recorded ? ` / ${playback.end.toFixed(2)} s` : " s");
    if (recorded) {
      this.scrubber.value = String(playback.time);
      const share = playback.end > playback.start ? (playback.time - playback.start) / (playback.end - playback.start) : 0;
      this.scrubber.style.setProperty("--zero", "0%");
      this.scrubber.style.setProperty("--at", `${100 * share}%`);
      this.scrubber.setAttribute("aria-valuetext", `${playback.time.toFixed(2)} seconds`);
    }
    const factor = session.status?.real_time_factor ?? 0;
    this.factor.hidden = recorded || session.paused;
    setText(this.factor, `${factor < 0.01 ? factor.toPrecision(2) : factor.toFixed(2)}× real time`);
    if (!Number.isNaN(fps)) {
      this.rate.hidden = fps === 0;
      setText(this.rate, `${Math.round(fps)} fps`);
    }
    const contacts = session.run.ready ? session.run.frame.contacts : 0;
    setText(this.contacts, `${contacts} ${contacts === 1 ? "contact" : "contacts"}`);
  }
}
