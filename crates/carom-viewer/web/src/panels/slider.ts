/** One row of a panel: name, number and slider. Without a listener it is a gauge. */
import { h, setText, short } from "../dom";

export interface SliderOptions {
  label: string;
  unit: string;
  range: [number, number];
  /** Absent: the value can only be read. */
  change?: (value: number) => void;
}

export class Slider {
  readonly element: HTMLElement;
  private readonly range: HTMLInputElement;
  private readonly number: HTMLInputElement;
  private held = false;
  private shown = NaN;
  private enabled = true;

  constructor(private readonly options: SliderOptions) {
    const { label, unit, range } = options;
    const [low, high] = range;
    this.range = h("input", {
      type: "range",
      min: low,
      max: high,
      step: "any",
      "aria-label": label,
      oninput: () => this.emit(Number(this.range.value)),
      onpointerdown: () => (this.held = true),
      onpointerup: () => (this.held = false),
      onpointercancel: () => (this.held = false),
      ondblclick: () => this.emit(Math.min(high, Math.max(low, 0))),
    });
    this.number = h("input", {
      type: "text",
      inputmode: "decimal",
      class: "number",
      "aria-label": `${label}, number`,
      onchange: () => this.typed(),
    });
    this.element = h(
      "div",
      { class: "slider" },
      h("span", { class: "name", title: label }, label),
      h("span", { class: "value" }, this.number, h("span", { class: "unit" }, unit)),
      this.range,
      h("span", { class: "ends", "aria-hidden": "true" }, h("span", {}, short(low, 3)), h("span", {}, short(high, 3))),
    );
    const zero = Math.min(1, Math.max(0, (0 - low) / (high - low)));
    this.range.style.setProperty("--zero", `${100 * zero}%`);
    this.set(0);
  }

  setEnabled(on: boolean): void {
    if (on === this.enabled) return;
    this.enabled = on;
    this.range.disabled = this.number.disabled = !on;
  }

  /** Shows a value from outside, unless the user is just setting one. */
  set(value: number): void {
    if (this.held || value === this.shown || document.activeElement === this.number) return;
    this.show(value);
  }

  private show(value: number): void {
    this.shown = value;
    this.range.value = String(value);
    const [low, high] = this.options.range;
    // What rounding leaves of zero is zero.
    const rounded = Math.abs(value) < 1e-6 * (high - low) ? 0 : value;
    this.number.value = short(rounded);
    const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
    this.range.style.setProperty("--at", `${100 * share}%`);
    this.range.setAttribute("aria-valuetext", `${short(rounded)} ${this.options.unit}`);
    this.element.classList.toggle("beyond", value < low - 1e-6 || value > high + 1e-6);
  }

  private typed(): void {
    const value = Number(this.number.value.replace("−", "-").replace(",", "."));
    if (Number.isFinite(value) && this.number.value.trim() !== "") this.emit(value);
    else this.show(this.shown);
    this.number.blur();
  }

  private emit(value: number): void {
    if (!this.options.change) return;
    this.show(value);
    this.options.change(value);
  }
}

/** A field that narrows a list down, shown when there is much to search. */
export function searchField(what: string, changed: (text: string) => void): HTMLInputElement {
  const field = h("input", { type: "search", class: "search", placeholder: `Search ${what}`, "aria-label": `Search ${what}` });
  field.addEventListener("input", () => changed(field.value.trim().toLowerCase()));
  return field;
}

/** A message where a list would be. */
export function emptyNote(text: string): HTMLElement {
  const note = h("p", { class: "empty" });
  setText(note, text);
  return note;
}
