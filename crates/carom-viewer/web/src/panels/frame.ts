/** The surroundings of the view: title, tool bar and the panel with its tabs. */
import { h, iconButton, setIcon, setLabel, setText } from "../dom";
import type { Session } from "../session";
import type { SettingsStore, Tab, Theme } from "../settings";

const THEMES: Theme[] = ["system", "light", "dark"];
const THEME_ICONS: Record<Theme, string> = { system: "system", light: "sun", dark: "moon" };

/** Name of the model, what the page is connected to, and the two runs if there are two. */
export class Title {
  readonly element: HTMLElement;
  private readonly name = h("h1", {});
  private readonly badge = h("span", { class: "badge" });
  private readonly runs = h("ul", { class: "runs", "aria-label": "Recordings" });

  constructor(
    private readonly session: Session,
    private readonly store: SettingsStore,
  ) {
    const balls = h("span", { class: "balls", "aria-hidden": "true" }, h("i", {}), h("i", {}), h("i", {}));
    this.element = h("header", { class: "glass title" }, h("div", { class: "line" }, balls, this.name, this.badge), this.runs);
    store.listen(() => this.refresh());
  }

  refresh(): void {
    const { session } = this;
    const name = session.scene?.name || (session.scene ? "Unnamed model" : "carom");
    setText(this.name, name);
    this.name.title = name;
    document.title = session.scene ? `${name} – carom` : "carom";
    const kind = session.mode === "recording" ? "recording" : session.connected ? (session.paused ? "paused" : "live") : session.mode === "live" ? "offline" : "";
    setText(this.badge, kind);
    this.badge.className = `badge ${kind}`;
    this.badge.hidden = kind === "" || (kind === "recording" && session.recording === null);
    this.refreshRuns();
  }

  private refreshRuns(): void {
    const { recording, ghostRecording } = this.session;
    this.runs.hidden = !recording || (!ghostRecording && !recording.name);
    if (this.runs.hidden) return;
    const row = (name: string, kind: string, ...buttons: HTMLElement[]) =>
      h("li", { class: kind }, h("i", {}), h("span", { class: "name", title: name }, name), ...buttons);
    const rows = [row(recording?.name || "run", "run")];
    if (ghostRecording) {
      const eye = iconButton("eye", "Show the ghost", () => this.store.toggle("ghost"), "O");
      eye.setAttribute("aria-pressed", String(this.store.values.ghost));
      const close = iconButton("close", "Remove the ghost", () => this.session.removeGhost());
      rows.push(row(ghostRecording.name || "ghost", "ghost", eye, close));
    }
    this.runs.replaceChildren(...rows);
  }
}

export interface ToolBarActions {
  fit(): void;
  follow(): void;
  hand(): void;
  picture(): void;
  help(): void;
  panel(): void;
}

export class ToolBar {
  readonly element: HTMLElement;
  private readonly theme: HTMLButtonElement;
  private readonly follow: HTMLButtonElement;
  private readonly hand: HTMLButtonElement;
  private readonly panel: HTMLButtonElement;

  constructor(
    private readonly store: SettingsStore,
    actions: ToolBarActions,
  ) {
    this.follow = iconButton("follow", "Follow the picked body", actions.follow, "T");
    this.hand = iconButton("hand", "Pull bodies", actions.hand, "H");
    this.theme = iconButton("system", "Theme", () => this.nextTheme(), "D");
    this.panel = iconButton("panel", "Panel", actions.panel, "P");
    this.element = h(
      "nav",
      { class: "glass tools", "aria-label": "View" },
      iconButton("fit", "Fit view", actions.fit, "A"),
      this.follow,
      this.hand,
      this.theme,
      iconButton("camera", "Save a picture", actions.picture, "I"),
      iconButton("help", "Keys and mouse", actions.help, "?"),
      this.panel,
    );
    store.listen(() => this.refreshTheme());
    this.refreshTheme();
  }

  nextTheme(): void {
    const { theme } = this.store.values;
    this.store.set({ theme: THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] });
  }

  private refreshTheme(): void {
    const { theme } = this.store.values;
    setIcon(this.theme, THEME_ICONS[theme] ?? "system");
    setLabel(this.theme, `Theme: ${theme === "system" ? "as the system" : theme}`, "D");
  }

  refresh(state: { live: boolean; selected: boolean; following: boolean; pulling: boolean; open: boolean }): void {
    this.follow.disabled = !state.selected;
    this.follow.setAttribute("aria-pressed", String(state.following));
    this.hand.hidden = !state.live;
    this.hand.setAttribute("aria-pressed", String(state.pulling));
    this.panel.setAttribute("aria-pressed", String(state.open));
  }
}

export interface TabContent {
  id: Tab;
  text: string;
  element: HTMLElement;
}

/** One content at a time; arrows move between tabs. */
export class Tabs {
  readonly element: HTMLElement;
  private readonly buttons: HTMLButtonElement[];

  constructor(
    private readonly contents: TabContent[],
    private readonly store: SettingsStore,
  ) {
    this.buttons = contents.map((content) =>
      h("button", { type: "button", role: "tab", id: `tab-${content.id}`, "aria-controls": `panel-${content.id}`, onclick: () => store.set({ tab: content.id }) }, content.text),
    );
    for (const { id, element } of contents) {
      element.id = `panel-${id}`;
      element.setAttribute("role", "tabpanel");
      element.setAttribute("aria-labelledby", `tab-${id}`);
    }
    const bar = h("div", { class: "tabs", role: "tablist", "aria-label": "Panels" }, ...this.buttons);
    bar.addEventListener("keydown", (event) => this.arrow(event));
    this.element = h("aside", { class: "glass panel", "aria-label": "Panel" }, bar, ...contents.map((content) => content.element));
    store.listen(() => this.refresh());
    this.refresh();
  }

  get current(): Tab {
    return this.store.values.tab;
  }

  private arrow(event: KeyboardEvent): void {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.stopPropagation();
    const at = this.contents.findIndex((content) => content.id === this.current);
    const to = (at + step + this.contents.length) % this.contents.length;
    this.store.set({ tab: this.contents[to].id });
    this.buttons[to].focus();
  }

  private refresh(): void {
    this.contents.forEach((content, i) => {
      const chosen = content.id === this.current;
      content.element.hidden = !chosen;
      this.buttons[i].setAttribute("aria-selected", String(chosen));
      this.buttons[i].tabIndex = chosen ? 0 : -1;
    });
  }
}
