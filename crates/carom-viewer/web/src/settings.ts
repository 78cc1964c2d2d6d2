/** What the user has chosen to see, kept by the browser where it may. */
import type { DecorationOptions } from "./decorations";
import type { ViewOptions } from "./scene";

export type Theme = "system" | "light" | "dark";
export type Tab = "controls" | "joints" | "bodies" | "plots" | "view";

export interface Settings extends ViewOptions, DecorationOptions {
  theme: Theme;
  tab: Tab;
  panel: boolean | null;
  ghost: boolean;
}

export type Toggle =
  | "contacts"
  | "forces"
  | "centres"
  | "joints"
  | "frames"
  | "tendons"
  | "gradients"
  | "sites"
  | "wireframe"
  | "transparent"
  | "ghost";

const KEY = "carom-viewer-1";

const DEFAULTS: Settings = {
  groups: [true, true, true, false, false, false],
  sites: true,
  wireframe: false,
  transparent: false,
  contacts: false,
  forces: true,
  centres: false,
  joints: false,
  frames: false,
  tendons: true,
  gradients: true,
  arrowScale: 1,
  theme: "system",
  tab: "controls",
  panel: null,
  ghost: true,
};

/** The settings, with listeners. Pages without storage (sandboxed frames) start from the defaults each time. */
export class SettingsStore {
  readonly values: Settings = { ...DEFAULTS, groups: [...DEFAULTS.groups] };
  private readonly listeners: (() => void)[] = [];
  /** Whether groups are shown that the user did not choose. */
  private isRevealed = false;

  constructor() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>;
      for (const key of Object.keys(DEFAULTS) as (keyof Settings)[]) {
        if (typeof kept[key] === typeof DEFAULTS[key]) Object.assign(this.values, { [key]: kept[key] });
      }
      if (!Array.isArray(this.values.groups) || this.values.groups.length !== 6) this.values.groups = [...DEFAULTS.groups];
    } catch {
      // No storage, or not ours.
    }
  }

  listen(listener: () => void): void {
    this.listeners.push(listener);
  }

  set(change: Partial<Settings>): void {
    Object.assign(this.values, change);
    if (change.groups) this.isRevealed = false;
    const kept = this.isRevealed ? { ...this.values, groups: DEFAULTS.groups } : this.values;
    for (const listener of this.listeners) listener();
    try {
      localStorage.setItem(KEY, JSON.stringify(kept));
    } catch {
      // Forgotten with the page.
    }
  }

  toggle(key: Toggle): void {
    this.set({ [key]: !this.values[key] });
  }

  /**
   * Shows more groups of geoms where the usual ones leave all bodies invisible, as in models whose only geoms are for collisions. For this model
   * alone: it is not kept.
   */
  reveal(geoms: { body: number; group: number }[]): void {
    if (this.isRevealed) this.values.groups = [...DEFAULTS.groups];
    const own = geoms.filter((geom) => geom.body > 0).map((geom) => geom.group);
    const isUsual = DEFAULTS.groups.every((shown, group) => shown === this.values.groups[group]);
    this.isRevealed = isUsual && own.length > 0 && !own.some((group) => DEFAULTS.groups[group]);
    if (this.isRevealed) this.values.groups = this.values.groups.map((shown, group) => shown || own.includes(group));
    for (const listener of this.listeners) listener();
  }

  toggleGroup(group: number): void {
    const groups = [...this.values.groups];
    groups[group] = !groups[group];
    this.set({ groups });
  }
}
