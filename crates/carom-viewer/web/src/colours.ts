/** Colours of things in space, for both themes, and what a model's own colours become. */
import { Color, SRGBColorSpace } from "three";
import type { Scene, Shape } from "./protocol";

export interface Palette {
  dark: boolean;
  skyTop: Color;
  skyHorizon: Color;
  groundA: Color;
  groundB: Color;
  groundLine: Color;
  neutral: Color;
  accent: Color;
  ghost: Color;
  contact: Color;
  force: Color;
  gradient: Color;
  jointAxis: Color;
  keyLight: number;
  fillLight: number;
  environment: number;
}

const shared = {
  accent: new Color("#12a58c"),
  ghost: new Color("#4d8dff"),
  contact: new Color("#ffb02e"),
  force: new Color("#ff7a1a"),
  gradient: new Color("#a845e8"),
  jointAxis: new Color("#3f7cff"),
};

export const LIGHT: Palette = {
  ...shared,
  dark: false,
  skyTop: new Color("#d5dfe9"),
  skyHorizon: new Color("#f7f9fb"),
  groundA: new Color("#eceff2"),
  groundB: new Color("#e1e6ea"),
  groundLine: new Color("#c9d1d8"),
  neutral: new Color("#b9c0c8"),
  keyLight: 2.15,
  fillLight: 0.3,
  environment: 0.32,
};

export const DARK: Palette = {
  ...shared,
  ghost: new Color("#86aeff"),
  dark: true,
  skyTop: new Color("#0b0d11"),
  skyHorizon: new Color("#1c2129"),
  groundA: new Color("#252b34"),
  groundB: new Color("#1f252d"),
  groundLine: new Color("#323a45"),
  neutral: new Color("#8b95a1"),
  keyLight: 2.1,
  fillLight: 0.3,
  environment: 0.4,
};

/** For geoms that the model gives no colour, one per body in turn. */
const BODY_COLOURS = ["#7f9cc0", "#d2946b", "#84ad8c", "#bd8fae", "#d3b565", "#6cabb0"].map((hex) => new Color(hex));

export function fromRgba(rgba: number[], out: Color): Color {
  return out.setRGB(rgba[0], rgba[1], rgba[2], SRGBColorSpace);
}

/** Has the shape the colour of a model that says nothing about colour? */
export function isUncoloured(rgba: number[]): boolean {
  return rgba[0] === 0.5 && rgba[1] === 0.5 && rgba[2] === 0.5;
}

/** Colour of a geom: its own, or one of ours when it has none. */
export function geomColour(geom: Shape, scene: Scene, palette: Palette, out: Color): Color {
  if (!isUncoloured(geom.rgba)) return fromRgba(geom.rgba, out);
  if (geom.body === 0 || scene.bodies.length === 0) return out.copy(palette.neutral);
  return out.copy(BODY_COLOURS[(geom.body - 1) % BODY_COLOURS.length]);
}

/** The two tones and the lines of a ground: the theme's, tinted if the model's plane has a hue. */
export function groundTones(rgba: number[], palette: Palette, out: [Color, Color, Color]): void {
  const own = fromRgba(rgba, new Color());
  const hsl = { h: 0, s: 0, l: 0 };
  own.getHSL(hsl, SRGBColorSpace);
  out[0].copy(palette.groundA);
  out[1].copy(palette.groundB);
  out[2].copy(palette.groundLine);
  if (hsl.s < 0.08 || hsl.l < 0.04) return;
  const lightness = palette.dark ? 0.2 : 0.8;
  const tint = new Color().setHSL(hsl.h, Math.min(hsl.s, 0.35), lightness, SRGBColorSpace);
  for (const tone of out) tone.lerp(tint, 0.55);
}
