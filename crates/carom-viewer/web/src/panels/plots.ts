/** The panel of plots: a menu of all signals, and a card for each that is shown. */
import { h, iconButton, setText, short } from "../dom";
import { colourOf, Plot, type PlotTheme } from "../plots";
import type { Scene } from "../protocol";
import type { Session } from "../session";
import { channelValue, type Signal, signalsOf } from "../signals";

interface Card {
  plot: Plot;
  element: HTMLElement;
  values: HTMLElement[];
}

/** A legend with more entries than this says nothing at a glance. */
const MOST_IN_LEGEND = 7;

export class PlotsPanel {
  readonly element = h("div", { class: "rows" });
  private readonly menu = h("select", { "aria-label": "Add a plot", class: "menu", onchange: () => this.choose() });
  private readonly list = h("div", { class: "plots" });
  private readonly note = h("p", { class: "empty" });
  private signals: Signal[] = [];
  private cards: Card[] = [];
  theme: PlotTheme = { text: "#888", grid: "#ddd", cursor: "#000" };

  constructor(
    private readonly session: Session,
    private readonly changed: () => void,
  ) {
    this.element.append(this.menu, this.list, this.note);
  }

  build(scene: Scene): void {
    this.signals = signalsOf(scene);
    const groups = new Map<string, HTMLOptGroupElement>();
    for (const signal of this.signals) {
      let group = groups.get(signal.group);
      if (!group) {
        group = h("optgroup", { label: signal.group });
        groups.set(signal.group, group);
      }
      group.append(h("option", { value: signal.id }, signal.label));
    }
    this.menu.replaceChildren(h("option", { value: "" }, "Add a plot…"), ...groups.values());
    this.cards = [];
    this.list.replaceChildren();
    this.add("energy");
    const first = this.signals.find((signal) => signal.group === "Sensors") ?? this.signals.find((signal) => signal.group === "Joints");
    if (first) this.add(first.id);
  }

  private choose(): void {
    this.add(this.menu.value);
    this.menu.value = "";
    this.changed();
  }

  add(id: string): void {
    const signal = this.signals.find((one) => one.id === id);
    const present = this.cards.find((card) => card.plot.signal.id === id);
    if (!signal || present) {
      present?.element.scrollIntoView({ block: "nearest" });
      return;
    }
    const plot = new Plot(signal);
    const values: HTMLElement[] = [];
    const legend = signal.channels.slice(0, MOST_IN_LEGEND).map((channel, i) => {
      const value = h("b", {});
      values.push(value);
      const dot = h("i", {});
      dot.style.background = colourOf(i);
      return h("span", {}, dot, signal.channels.length > 1 ? channel.label : "", value);
    });
    const element = h("figure", { class: "card" });
    const close = iconButton("close", `Remove the plot of ${signal.label}`, () => this.remove(element));
    element.append(
      h("figcaption", {}, h("span", { class: "name", title: signal.label }, signal.label), close),
      h("div", { class: "legend" }, ...legend),
      plot.canvas,
    );
    this.scrubOn(plot);
    this.cards.push({ plot, element, values });
    this.list.append(element);
    this.refreshNote();
  }

  private remove(element: HTMLElement): void {
    this.cards = this.cards.filter((card) => card.element !== element);
    element.remove();
    this.refreshNote();
  }

  private refreshNote(): void {
    setText(this.note, this.cards.length === 0 ? "Energy, sensors, joints and controls can be plotted: choose one above." : "");
    this.note.hidden = this.cards.length > 0;
  }

  /** Dragging over a plot of a recording moves its time. */
  private scrubOn(plot: Plot): void {
    const scrub = (event: PointerEvent) => {
      if (this.session.isLive || event.buttons !== 1) return;
      this.session.pause();
      this.session.seek(plot.timeAt(event.clientX));
    };
    plot.canvas.addEventListener("pointerdown", (event) => {
      plot.canvas.setPointerCapture(event.pointerId);
      scrub(event);
    });
    plot.canvas.addEventListener("pointermove", scrub);
  }

  update(): void {
    const { session } = this;
    if (!session.series || !session.run.ready) return;
    const live = session.isLive;
    const whole: [number, number] | null = session.playback && !live ? [session.playback.start, session.playback.end] : null;
    for (const { plot, values } of this.cards) {
      plot.draw(session.series, session.ghostSeries, session.time, live, whole, this.theme);
      values.forEach((element, i) => setText(element, short(channelValue(session.run.frame, plot.signal.channels[i]), 4)));
    }
  }
}
