/** Time logic of recordings: which moment is shown, and between which frames it lies. */

/** A moment between frames `index` and `index + 1`: `fraction` of the way. */
export interface Moment {
  index: number;
  fraction: number;
}

/** Finds `time` among non-decreasing `times`, outside clamped to the ends; writes to `out`. */
export function momentAt(times: Float64Array, time: number, out: Moment): Moment {
  const last = times.length - 1;
  if (!(time > times[0])) return set(out, 0, 0);
  if (time >= times[last]) return set(out, last, 0);
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle;
    else high = middle;
  }
  return set(out, low, (time - times[low]) / (times[high] - times[low]));
}

function set(out: Moment, index: number, fraction: number): Moment {
  out.index = index;
  out.fraction = fraction;
  return out;
}

/** The speeds that buttons and keys step through. */
export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8];

export function nextSpeed(speed: number, direction: 1 | -1): number {
  const ordered = direction > 0 ? SPEEDS : SPEEDS.toReversed();
  return ordered.find((s) => (s - speed) * direction > 1e-9) ?? ordered[ordered.length - 1];
}

/** A player's clock over [start, end] seconds. */
export class Playback {
  time: number;
  playing = false;
  loop = true;
  speed = 1;

  constructor(
    readonly start: number,
    readonly end: number,
  ) {
    this.time = start;
  }

  /** Moves on by `elapsed` seconds of the wall clock; true if the shown time changed. */
  advance(elapsed: number): boolean {
    const duration = this.end - this.start;
    if (!this.playing || duration <= 0 || !(elapsed > 0)) return false;
    let time = this.time + elapsed * this.speed;
    if (time > this.end) {
      if (this.loop) {
        time = this.start + ((time - this.start) % duration);
      } else {
        time = this.end;
        this.playing = false;
      }
    }
    const changed = time !== this.time;
    this.time = time;
    return changed;
  }

  /** Plays, if there is more than one moment to show. */
  play(): void {
    if (this.end <= this.start) return;
    if (this.time >= this.end) this.time = this.start;
    this.playing = true;
  }

  toggle(): void {
    if (this.playing) this.playing = false;
    else this.play();
  }

  seek(time: number): void {
    if (Number.isFinite(time)) this.time = Math.min(this.end, Math.max(this.start, time));
  }

  /** Pauses and goes `count` frames on (or back); a time between frames counts as the earlier one going on, the later one going back. */
  step(times: Float64Array, count: number): void {
    this.playing = false;
    const moment = momentAt(times, this.time, { index: 0, fraction: 0 });
    const from = count < 0 && moment.fraction > 0 ? moment.index + 1 : moment.index;
    this.time = times[Math.min(times.length - 1, Math.max(0, from + count))];
  }
}
