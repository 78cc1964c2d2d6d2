/** Few helpers to make elements. */

type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;
type Child = Node | string | null;

/** Makes an element: `on…` attributes are listeners, true and false set or omit. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Changes a text only if it differs: the browser lays out less. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

const PATHS: Record<string, string> = {
  play: "M8 5.5v13l10.5-6.5z",
  pause: "M8 5.5v13M16 5.5v13",
  next: "M6 6v12l8-6zM18 6v12",
  previous: "M18 6v12l-8-6zM6 6v12",
  reset: "M5 12a7 7 0 1 0 2.3-5.2M5 4.5v4h4",
  loop: "M7 8h9a3 3 0 0 1 3 3v1M17 16H8a3 3 0 0 1-3-3v-1M9.5 5.5 7 8l2.5 2.5M14.5 13.5 17 16l-2.5 2.5",
  fit: "M4 9V5.5A1.5 1.5 0 0 1 5.5 4H9M15 4h3.5A1.5 1.5 0 0 1 20 5.5V9M20 15v3.5a1.5 1.5 0 0 1-1.5 1.5H15M9 20H5.5A1.5 1.5 0 0 1 4 18.5V15M12 9.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5",
  follow: "M12 8.2a3.8 3.8 0 1 1 0 7.6 3.8 3.8 0 0 1 0-7.6M12 3v3M12 18v3M3 12h3M18 12h3",
  hand: "M8 12V6.2a1.4 1.4 0 0 1 2.8 0V11M10.8 10.5V4.9a1.4 1.4 0 0 1 2.8 0v5.6M13.6 11V6.2a1.4 1.4 0 0 1 2.8 0v7.3c0 4-2.2 6.5-5.4 6.5-2.6 0-4-1.3-5.2-3.6l-1.9-3.6a1.4 1.4 0 0 1 2.4-1.4L8 13.5",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1 1M17.4 17.4l1 1M5.6 18.4l1-1M17.4 6.6l1-1",
  moon: "M19 14.2A7.5 7.5 0 0 1 9.8 5a7.5 7.5 0 1 0 9.2 9.2",
  system: "M4 5.5h16v10H4zM9 19.5h6M12 15.5v4",
  camera: "M4 8.5A1.5 1.5 0 0 1 5.5 7H8l1.4-2h5.2L16 7h2.5A1.5 1.5 0 0 1 20 8.5v8a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 4 16.5zM12 9.3a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.4",
  help: "M9.2 9.3a2.8 2.8 0 1 1 4.3 2.4c-.9.6-1.5 1.1-1.5 2.3M12 17.2v.3",
  panel: "M4 6.5A1.5 1.5 0 0 1 5.5 5h13A1.5 1.5 0 0 1 20 6.5v11a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 4 17.5zM14.5 5v14",
  close: "M6.5 6.5l11 11M17.5 6.5l-11 11",
  search: "M10.5 5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M15 15l4.5 4.5",
  eye: "M3 12s3.2-6 9-6 9 6 9 6-3.2 6-9 6-9-6-9-6M12 9.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5",
};

export function icon(name: keyof typeof PATHS): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export function setIcon(button: Element, name: string): void {
  button.querySelector("path")?.setAttribute("d", PATHS[name]);
}

/** A button with an icon, a label for everyone and a key in its tooltip. */
export function iconButton(name: string, text: string, onclick: () => void, key?: string): HTMLButtonElement {
  const button = h("button", { type: "button", class: "icon", "aria-label": text, onclick }, icon(name));
  button.title = key ? `${text} (${key})` : text;
  return button;
}

export function setLabel(button: HTMLElement, text: string, key?: string): void {
  if (button.getAttribute("aria-label") === text) return;
  button.setAttribute("aria-label", text);
  button.title = key ? `${text} (${key})` : text;
}

/** A number in about `digits` significant digits, never longer than a slot of a panel. */
export function short(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "not a number" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(2).replaceAll("-", "−").replace("e+", "e");
  const places = size === 0 ? digits - 1 : Math.max(0, digits - 1 - Math.max(0, Math.floor(Math.log10(size))));
  const text = value.toFixed(Math.min(places, digits - 1));
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}
