/** Small plots over time on a canvas: curves, a ghost's curves dashed, and a line at the moment that is shown. */
import { short } from "./dom";
import { type Channel, firstAt, type Series, type Signal } from "./signals";

const COLOURS = ["#2f7fe0", "#e8712b", "#1fa37a", "#c2569b", "#d1a319", "#6a5acd", "#777f88"];
const MARGIN = { left: 46, right: 8, top: 6, bottom: 18 };
const LIVE_SECONDS = 10;

export interface PlotTheme {
  text: string;
  grid: string;
  cursor: string;
}

export function colourOf(channel: number): string {
  return COLOURS[channel % COLOURS.length];
}

/** Values at which an axis has marks: about `count`, on round numbers. */
export function ticks(low: number, high: number, count: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? 10 * power;
  const out: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i++) out.push(i === 0 ? 0 : i * step);
  return out;
}

/** The part of time that a plot shows. */
export function timeWindow(series: Series, live: boolean, whole: [number, number] | null): [number, number] {
  if (whole) return whole[1] > whole[0] ? whole : [whole[0], whole[0] + 1];
  if (series.length === 0) return [0, live ? LIVE_SECONDS : 1];
  const end = series.time(series.length - 1);
  const start = series.time(0);
  return [Math.max(start, end - LIVE_SECONDS), Math.max(end, start + LIVE_SECONDS)];
}

/** Smallest and largest value of all curves within a window of time. */
export function valueRange(series: Series[], channels: Channel[], from: number, to: number): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const one of series) {
    const end = Math.min(one.length, firstAt(one, to) + 1);
    for (let i = Math.max(0, firstAt(one, from) - 1); i < end; i++) {
      for (const channel of channels) {
        const value = one.value(i, channel);
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
  }
  if (!(high >= low)) return [-1, 1];
  const pad = high > low ? 0.08 * (high - low) : Math.max(0.5 * Math.abs(high), 1e-3);
  return [low - pad, high + pad];
}

export class Plot {
  readonly canvas = document.createElement("canvas");
  private readonly curves = document.createElement("canvas");
  private key = "";
  private window: [number, number] = [0, 1];

  constructor(readonly signal: Signal) {
    this.canvas.className = "plot";
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${signal.label} over time`);
  }

  /** The time under a place of the canvas. */
  timeAt(clientX: number): number {
    const box = this.canvas.getBoundingClientRect();
    const share = (clientX - box.left - MARGIN.left) / Math.max(1, box.width - MARGIN.left - MARGIN.right);
    return this.window[0] + Math.min(1, Math.max(0, share)) * (this.window[1] - this.window[0]);
  }

  draw(run: Series, ghost: Series | null, now: number, live: boolean, whole: [number, number] | null, theme: PlotTheme): void {
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    if (width < 80 || height < 40) return;
    const ratio = Math.min(2, window.devicePixelRatio);
    this.window = timeWindow(run, live, whole);
    const key = `${width} ${height} ${ratio} ${run.revision} ${run.length} ${ghost?.length ?? 0} ${this.window.join(" ")} ${theme.text}`;
    if (key !== this.key) {
      this.key = key;
      this.drawCurves(run, ghost, width, height, ratio, theme);
      this.canvas.width = this.curves.width;
      this.canvas.height = this.curves.height;
    }
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.curves, 0, 0);
    const [from, to] = this.window;
    const x = MARGIN.left + ((now - from) / (to - from)) * (width - MARGIN.left - MARGIN.right);
    context.scale(ratio, ratio);
    context.strokeStyle = theme.cursor;
    context.lineWidth = 1.25;
    context.beginPath();
    context.moveTo(x, MARGIN.top - 3);
    context.lineTo(x, height - MARGIN.bottom);
    context.stroke();
  }

  private drawCurves(run: Series, ghost: Series | null, width: number, height: number, ratio: number, theme: PlotTheme): void {
    this.curves.width = Math.round(width * ratio);
    this.curves.height = Math.round(height * ratio);
    const context = this.curves.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    const [from, to] = this.window;
    const { channels } = this.signal;
    const [low, high] = valueRange(ghost ? [run, ghost] : [run], channels, from, to);
    const right = width - MARGIN.right;
    const bottom = height - MARGIN.bottom;
    const x = (time: number) => MARGIN.left + ((time - from) / (to - from)) * (right - MARGIN.left);
    const y = (value: number) => bottom - ((value - low) / (high - low)) * (bottom - MARGIN.top);

    context.font = "10px system-ui, sans-serif";
    context.fillStyle = theme.text;
    context.strokeStyle = theme.grid;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.beginPath();
    for (const value of ticks(low, high, Math.max(2, height / 34))) {
      const at = Math.round(y(value)) + 0.5;
      context.moveTo(MARGIN.left, at);
      context.lineTo(right, at);
      context.fillText(short(value, 3), MARGIN.left - 5, at);
    }
    context.textAlign = "center";
    for (const value of ticks(from, to, width / 64)) context.fillText(`${Number(value.toPrecision(6))}`, x(value), height - 7);
    context.stroke();

    context.save();
    context.beginPath();
    context.rect(MARGIN.left, 0, right - MARGIN.left, bottom + 1);
    context.clip();
    channels.forEach((channel, i) => {
      context.strokeStyle = colourOf(i);
      if (ghost) {
        context.globalAlpha = 0.75;
        context.lineWidth = 1.2;
        context.setLineDash([3, 3]);
        trace(context, ghost, channel, from, to, x, y);
      }
      context.globalAlpha = 1;
      context.lineWidth = 1.5;
      context.setLineDash([]);
      trace(context, run, channel, from, to, x, y);
    });
    context.restore();
  }
}

/** One curve; where many samples fall on one pixel their extremes are drawn. */
function trace(
  context: CanvasRenderingContext2D,
  series: Series,
  channel: Channel,
  from: number,
  to: number,
  x: (time: number) => number,
  y: (value: number) => number,
): void {
  const begin = Math.max(0, firstAt(series, from) - 1);
  const end = Math.min(series.length, firstAt(series, to) + 1);
  context.beginPath();
  let column = NaN;
  let [low, high] = [0, 0];
  for (let i = begin; i < end; i++) {
    const value = series.value(i, channel);
    if (!Number.isFinite(value)) continue;
    const at = Math.round(x(series.time(i)) * 2) / 2;
    const height = y(value);
    if (at !== column) {
      if (!Number.isNaN(column)) {
        context.lineTo(column, low);
        if (high !== low) context.lineTo(column, high);
      }
      context.lineTo(at, height);
      column = at;
      low = high = height;
    } else {
      low = Math.min(low, height);
      high = Math.max(high, height);
    }
  }
  if (!Number.isNaN(column)) {
    context.lineTo(column, low);
    if (high !== low) context.lineTo(column, high);
  }
  context.stroke();
}
