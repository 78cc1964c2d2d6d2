import { describe, expect, it } from "vitest";
import { momentAt, nextSpeed, Playback } from "../../src/playback";

const times = new Float64Array([0, 0.1, 0.2, 0.4, 0.4, 1]);
const at = (time: number) => ({ ...momentAt(times, time, { index: 0, fraction: 0 }) });

describe("moments", () => {
  it("lie on frames at the frames' times", () => {
    expect(at(0)).toEqual({ index: 0, fraction: 0 });
    expect(at(0.2)).toEqual({ index: 2, fraction: 0 });
    expect(at(1)).toEqual({ index: 5, fraction: 0 });
  });

  it("lie between frames otherwise", () => {
    expect(at(0.3).index).toBe(2);
    expect(at(0.3).fraction).toBeCloseTo(0.5, 12);
  });

  it("take the later of two frames of one time", () => {
    expect(at(0.4)).toEqual({ index: 4, fraction: 0 });
  });

  it("are clamped to the ends, and to the start when time is no number", () => {
    expect(at(-3)).toEqual({ index: 0, fraction: 0 });
    expect(at(9)).toEqual({ index: 5, fraction: 0 });
    expect(at(NaN)).toEqual({ index: 0, fraction: 0 });
    expect(momentAt(new Float64Array([2]), 2, { index: 0, fraction: 0 })).toEqual({ index: 0, fraction: 0 });
  });
});

describe("playback", () => {
  it("moves by the wall clock times the speed", () => {
    const playback = new Playback(0, 10);
    expect(playback.advance(1)).toBe(false);
    playback.play();
    playback.speed = 0.5;
    expect(playback.advance(2)).toBe(true);
    expect(playback.time).toBe(1);
  });

  it("begins again at the end when it loops, keeping what is over", () => {
    const playback = new Playback(1, 3);
    playback.play();
    playback.seek(2.75);
    playback.advance(0.5);
    expect(playback.time).toBeCloseTo(1.25, 12);
    expect(playback.playing).toBe(true);
    playback.advance(20.5); // Many rounds at once.
    expect(playback.time).toBeCloseTo(1.75, 12);
  });

  it("stops at the end when it does not, and plays from the start then", () => {
    const playback = new Playback(0, 1);
    playback.loop = false;
    playback.play();
    playback.advance(5);
    expect([playback.time, playback.playing]).toEqual([1, false]);
    playback.toggle();
    expect([playback.time, playback.playing]).toEqual([0, true]);
  });

  it("seeks within its ends only", () => {
    const playback = new Playback(0, 1);
    playback.seek(7);
    expect(playback.time).toBe(1);
    playback.seek(NaN);
    expect(playback.time).toBe(1);
  });

  it("steps from frame to frame, also from between them", () => {
    const playback = new Playback(0, 1);
    playback.play();
    playback.seek(0.15);
    playback.step(times, 1);
    expect([playback.time, playback.playing]).toEqual([0.2, false]);
    playback.seek(0.15);
    playback.step(times, -1);
    expect(playback.time).toBe(0.1);
    playback.step(times, -9);
    expect(playback.time).toBe(0);
    playback.step(times, 99);
    expect(playback.time).toBe(1);
  });

  it("of a single moment stands still", () => {
    const playback = new Playback(2, 2);
    playback.play();
    expect(playback.playing).toBe(false);
    expect(playback.advance(1)).toBe(false);
    expect(playback.time).toBe(2);
  });
});

describe("speeds", () => {
  it("go up and down within their ends", () => {
    expect(nextSpeed(1, 1)).toBe(2);
    expect(nextSpeed(1, -1)).toBe(0.5);
    expect(nextSpeed(8, 1)).toBe(8);
    expect(nextSpeed(0.3, -1)).toBe(0.25);
  });
});
