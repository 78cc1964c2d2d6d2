/** What each key does. */
import type { Session } from "./session";
import type { SettingsStore, Toggle } from "./settings";

export interface KeyActions {
  fit(): void;
  follow(): void;
  escape(): void;
  panel(): void;
  theme(): void;
  picture(): void;
  hand(): void;
  help(): void;
}

const TOGGLES: Record<string, Toggle> = {
  c: "contacts",
  f: "forces",
  j: "joints",
  m: "centres",
  b: "frames",
  n: "tendons",
  s: "sites",
  g: "gradients",
  x: "transparent",
  w: "wireframe",
  o: "ghost",
};

export function listenToKeys(session: Session, store: SettingsStore, actions: KeyActions): void {
  const plain: Record<string, () => void> = {
    " ": () => session.togglePlay(),
    arrowright: () => session.step(1),
    arrowleft: () => session.step(-1),
    r: () => session.reset(),
    "[": () => session.changeSpeed(-1),
    "]": () => session.changeSpeed(1),
    l: () => session.setLoop(!(session.playback?.loop ?? false)),
    home: () => session.seek(session.playback?.start ?? 0),
    end: () => session.seek(session.playback?.end ?? 0),
    a: actions.fit,
    t: actions.follow,
    p: actions.panel,
    d: actions.theme,
    i: actions.picture,
    h: actions.hand,
    "?": actions.help,
    escape: actions.escape,
  };
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const key = event.key.toLowerCase();
    const group = /^[0-5]$/.test(key) ? Number(key) : null;
    if (group !== null) store.toggleGroup(group);
    else if (key in TOGGLES) store.toggle(TOGGLES[key]);
    else if (key in plain) plain[key]();
    else return;
    event.preventDefault();
  });
}

/** After a click or a choice by mouse the keys belong to the page again; who came by keyboard keeps the focus. */
export function releaseFocusAfterMouse(): void {
  document.addEventListener("click", (event) => {
    if (event.detail > 0) (event.target as Element).closest?.("button")?.blur();
  });
  document.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement) event.target.blur();
  });
}

/** Does the focused element need this key itself? */
function isTyping(event: KeyboardEvent): boolean {
  const element = event.target as HTMLElement | null;
  if (document.querySelector("dialog[open]")) return event.key !== "?";
  if (!element || element === document.body) return false;
  if (element instanceof HTMLInputElement && element.type === "range") return event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End";
  if (element instanceof HTMLInputElement && element.type === "checkbox") return event.key === " ";
  if (element instanceof HTMLInputElement || element instanceof HTMLSelectElement) return event.key !== "Escape";
  return element instanceof HTMLButtonElement && (event.key === " " || event.key === "Enter");
}
