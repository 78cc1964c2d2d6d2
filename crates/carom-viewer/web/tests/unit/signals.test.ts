import { describe, expect, it } from "vitest";
import { fakeFrame, fakeRecording, fakeScene } from "../fake-model.mjs";
import { socketAddress } from "../../src/connection";
import { short } from "../../src/dom";
import { ticks, timeWindow, valueRange } from "../../src/plots";
import { Bytes, Frame, readFrame } from "../../src/protocol";
import { parseRecording } from "../../src/recording";
import { channelValue, firstAt, LiveSeries, RecordedSeries, signalsOf } from "../../src/signals";

const scene = fakeScene();

function frameAt(time: number): Frame {
  const bytes = new Uint8Array(fakeFrame(scene, 0, time)).buffer;
  const frame = new Frame();
  readFrame(new Bytes(bytes), 0, bytes.byteLength, frame);
  return frame;
}

describe("signals", () => {
  it("are energy, every sensor, every joint and every control", () => {
    const groups = signalsOf(scene).map((signal) => signal.group);
    const count = (group: string) => groups.filter((one) => one === group).length;
    expect(count("Energy")).toBe(1);
    expect(count("Sensors")).toBe(scene.sensors.length);
    expect(count("Joints")).toBe(scene.joints.length + 6); // Free joints have position and orientation.
    expect(count("Controls")).toBe(scene.nu);
  });

  it("have the same values live and recorded as in the frame", () => {
    const live = new LiveSeries(scene);
    for (let i = 0; i < 4; i++) live.push(frameAt(0.1 * i));
    const recorded = new RecordedSeries(parseRecording(new Uint8Array(fakeRecording(scene, "", 0, 4, 0.1)).buffer, new Frame()));
    for (const signal of signalsOf(scene)) {
      for (const channel of signal.channels) {
        const expected = channelValue(frameAt(0.1 * 2), channel);
        expect(live.value(2, channel)).toBeCloseTo(expected, 5);
        expect(recorded.value(2, channel)).toBeCloseTo(expected, 5);
      }
    }
  });
});

describe("live series", () => {
  it("forget the oldest, and everything after a reset", () => {
    const live = new LiveSeries(scene);
    for (let i = 0; i < 7000; i++) live.push(frameAt(i));
    expect(live.length).toBe(6000);
    expect(live.time(0)).toBe(1000);
    expect(live.time(live.length - 1)).toBe(6999);
    expect(firstAt(live, 1500.5)).toBe(501);
    live.push(frameAt(0));
    expect(live.length).toBe(1);
    live.push(frameAt(0)); // The same moment again, with a joint moved by hand, is one sample.
    expect(live.length).toBe(1);
  });
});

describe("plots", () => {
  it("mark round numbers", () => {
    expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticks(-0.31, 0.29, 3)).toEqual([-0.2, 0, 0.2]);
    expect(ticks(1, 1, 3)).toEqual([]);
  });

  it("show the last ten seconds of a live run and the whole of a recording", () => {
    const live = new LiveSeries(scene);
    expect(timeWindow(live, true, null)).toEqual([0, 10]);
    for (const time of [0, 4, 25]) live.push(frameAt(time));
    expect(timeWindow(live, true, null)).toEqual([15, 25]);
    expect(timeWindow(live, false, [0, 6])).toEqual([0, 6]);
  });

  it("leave room above and below, also around a constant", () => {
    const live = new LiveSeries(scene);
    for (const time of [0, 1, 2]) live.push(frameAt(time));
    const [energy] = signalsOf(scene);
    const [low, high] = valueRange([live], [energy.channels[0]], 0, 10);
    expect(low).toBeLessThan(12);
    expect(high).toBeGreaterThan(12);
  });
});

describe("numbers", () => {
  it("are short", () => {
    expect([0, 1.23456, -12.3456, 1234.56, 0.00012, 1e-7, -3e9, NaN, Infinity].map((x) => short(x))).toEqual(
      ["0.000", "1.235", "−12.35", "1235", "1.20e−4", "1.00e−7", "−3.00e9", "not a number", "∞"],
    );
  });
});

describe("the websocket's address", () => {
  it("is the page's own with its token, and none for files", () => {
    expect(socketAddress({ protocol: "http:", host: "127.0.0.1:8000", search: "?token=a%2Fb" })).toBe("ws://127.0.0.1:8000/ws?token=a%2Fb");
    expect(socketAddress({ protocol: "file:", host: "", search: "" })).toBeNull();
  });
});
