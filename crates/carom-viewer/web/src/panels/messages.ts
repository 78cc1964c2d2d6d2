/** What must be said over everything: errors, a lost connection, nothing to show, help, where to drop a file. */
import { h, iconButton, setText } from "../dom";
import type { Session } from "../session";

export class Banner {
  readonly element = h("div", { class: "banner", role: "alert", hidden: true });
  private readonly text = h("span", {});
  private readonly retry: HTMLButtonElement;
  private readonly close: HTMLButtonElement;
  private dismissed = "";

  constructor(private readonly session: Session) {
    this.retry = h("button", { type: "button", class: "small", onclick: () => session.reconnect() }, "Reconnect now");
    this.close = iconButton("close", "Dismiss", () => this.dismiss());
    this.element.append(this.text, this.retry, this.close);
  }

  private dismiss(): void {
    this.dismissed = this.text.textContent ?? "";
    this.session.dismissError();
  }

  refresh(): void {
    const { error, lost, status } = this.session;
    const reason = lost?.reason ? `: ${lost.reason}` : "";
    const gone = lost ? `Connection lost${reason}. ${this.session.scene ? "The picture stands still. " : ""}Trying again.` : null;
    const message = gone ?? error ?? status?.error ?? null;
    this.element.hidden = message === null || (message === this.dismissed && !gone);
    this.element.classList.toggle("lost", gone !== null);
    this.retry.hidden = gone === null;
    this.close.hidden = gone !== null;
    if (message === null) this.dismissed = "";
    setText(this.text, message ?? "");
  }
}

/** In the middle of an empty stage. */
export class EmptyState {
  readonly element = h("div", { class: "blank", hidden: true });
  private readonly title = h("h1", {});
  private readonly text = h("p", {});

  constructor(private readonly session: Session) {
    this.element.append(this.title, this.text);
  }

  refresh(): void {
    const { session } = this;
    this.element.hidden = session.run.ready;
    if (session.error) {
      setText(this.title, "Nothing can be shown");
      setText(this.text, "");
    } else if (session.mode === "empty") {
      setText(this.title, "Nothing to show yet");
      setText(this.text, "Open a model with “carom view model.xml”, or drop a page exported by carom here.");
    } else if (!session.scene) {
      setText(this.title, session.lost ? "No connection" : "Loading the model…");
      setText(this.text, session.lost ? "Is “carom view” still running? Its page must be opened with the address it prints." : "");
    } else {
      setText(this.title, session.mode === "recording" ? "No recording" : "Waiting for the first frame…");
      setText(this.text, session.mode === "recording" ? "This page holds a model without a run. Drop a recording of it here." : "");
    }
  }
}

/** A passing note at the bottom. */
export class Toast {
  readonly element = h("div", { class: "toast", role: "status", hidden: true });
  private timer = 0;

  show(text: string): void {
    setText(this.element, text);
    this.element.hidden = false;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.element.hidden = true), 2600);
  }
}

const KEYS: [string, [string, string][]][] = [
  [
    "Time",
    [
      ["Space", "Play or pause"],
      ["→  ←", "Step, step back (recordings)"],
      ["R", "Reset; to the start of a recording"],
      ["[  ]", "Slower, faster"],
      ["L", "Loop a recording"],
      ["Home  End", "Start and end of a recording"],
    ],
  ],
  [
    "Mouse and touch",
    [
      ["Drag", "Turn; two fingers move and zoom"],
      ["Right drag, Shift+drag", "Move"],
      ["Wheel", "Zoom to the pointer"],
      ["Click", "Pick a body"],
      ["Double-click", "Look at a point"],
      ["Ctrl+drag, ⌘+drag", "Pull a body by a spring (live)"],
    ],
  ],
  [
    "View",
    [
      ["A", "Fit everything into view"],
      ["T", "Follow the picked body"],
      ["Esc", "Deselect, close"],
      ["P", "Panel"],
      ["D", "Theme: system, light, dark"],
      ["I", "Save a picture"],
      ["H", "Pull bodies without Ctrl (live)"],
    ],
  ],
  [
    "Show",
    [
      ["C  F", "Contact points, contact forces"],
      ["J  B", "Joint axes, body frames"],
      ["M  S", "Centres of mass, sites"],
      ["N  G", "Tendons, gradient arrows"],
      ["X  W", "Transparent, wireframe"],
      ["O", "Ghost"],
      ["0 … 5", "Geom groups"],
    ],
  ],
];

export class Help {
  readonly element = h("dialog", { class: "help", "aria-label": "Keys and mouse" });

  constructor() {
    const close = iconButton("close", "Close", () => this.element.close(), "Esc");
    const columns = KEYS.map(([title, keys]) =>
      h("section", {}, h("h3", {}, title), h("dl", {}, ...keys.flatMap(([key, text]) => [h("dt", {}, ...keycaps(key)), h("dd", {}, text)]))),
    );
    this.element.append(h("header", {}, h("h2", {}, "Keys and mouse"), close), h("div", { class: "columns" }, ...columns));
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) this.element.close();
    });
  }

  toggle(): void {
    if (this.element.open) this.element.close();
    else this.element.showModal();
  }
}

function keycaps(keys: string): Node[] {
  return keys.split(/ {2}|, /).map((key) => h("kbd", {}, key));
}
