/** Everything that can be plotted, and its values over time. */
import { Frame, type Scene } from "./protocol";
import type { Recording } from "./recording";
import { label } from "./scene-data";

/** One curve: a number that every frame carries. */
export interface Channel {
  label: string;
  source: "kinetic" | "potential" | "total" | "qpos" | "ctrl" | "sensor";
  index: number;
}

/** Curves that are plotted together. */
export interface Signal {
  id: string;
  group: string;
  label: string;
  channels: Channel[];
}

export function channelValue(frame: Frame, channel: Channel): number {
  switch (channel.source) {
    case "kinetic":
      return frame.kinetic;
    case "potential":
      return frame.potential;
    case "total":
      return frame.kinetic + frame.potential;
    case "qpos":
      return frame.floats[frame.qposAt + channel.index];
    case "ctrl":
      return frame.floats[frame.ctrlAt + channel.index];
    case "sensor":
      return frame.floats[frame.sensorAt + channel.index];
  }
}

const XYZ = ["x", "y", "z"];
const WXYZ = ["w", "x", "y", "z"];

function channels(source: Channel["source"], start: number, labels: string[]): Channel[] {
  return labels.map((text, i) => ({ label: text, source, index: start + i }));
}

function sensorLabels(dim: number): string[] {
  if (dim === 1) return ["value"];
  if (dim === 3) return XYZ;
  if (dim === 4) return WXYZ;
  return Array.from({ length: dim }, (_, i) => `[${i}]`);
}

/** All signals of a scene, grouped for choosing. */
export function signalsOf(scene: Scene): Signal[] {
  const signals: Signal[] = [
    {
      id: "energy",
      group: "Energy",
      label: "Energy (J)",
      channels: [
        { label: "total", source: "total", index: 0 },
        { label: "kinetic", source: "kinetic", index: 0 },
        { label: "potential", source: "potential", index: 0 },
      ],
    },
  ];
  scene.sensors.forEach((sensor, i) => {
    signals.push({
      id: `sensor ${i}`,
      group: "Sensors",
      label: label(sensor.name, sensor.kind || "sensor", i),
      channels: channels("sensor", sensor.start, sensorLabels(sensor.dim)),
    });
  });
  scene.joints.forEach((joint, i) => {
    const name = label(joint.name, `${joint.kind} joint`, i);
    const group = "Joints";
    if (joint.kind === "free") {
      signals.push({ id: `joint ${i} position`, group, label: `${name} position (m)`, channels: channels("qpos", joint.qpos, XYZ) });
    }
    if (joint.kind === "free" || joint.kind === "ball") {
      const start = joint.qpos + (joint.kind === "free" ? 3 : 0);
      signals.push({ id: `joint ${i} turn`, group, label: `${name} orientation`, channels: channels("qpos", start, WXYZ) });
    } else {
      const unit = joint.kind === "hinge" ? "rad" : "m";
      signals.push({ id: `joint ${i}`, group, label: `${name} (${unit})`, channels: channels("qpos", joint.qpos, ["value"]) });
    }
  });
  scene.actuators.forEach((actuator, i) => {
    signals.push({ id: `control ${i}`, group: "Controls", label: label(actuator.name, "actuator", i), channels: channels("ctrl", i, ["value"]) });
  });
  return signals;
}

/** Values over time that can be drawn. */
export interface Series {
  readonly length: number;
  /** Changes when values do. */
  readonly revision: number;
  time(i: number): number;
  value(i: number, channel: Channel): number;
}

/** The values of a recording, taken out of its frames when first asked for. */
export class RecordedSeries implements Series {
  readonly revision = 0;
  private readonly columns = new Map<string, Float32Array>();
  private readonly frame = new Frame();

  constructor(private readonly recording: Recording) {}

  get length(): number {
    return this.recording.count;
  }

  time(i: number): number {
    return this.recording.times[i];
  }

  value(i: number, channel: Channel): number {
    const key = `${channel.source} ${channel.index}`;
    let column = this.columns.get(key);
    if (!column) {
      column = new Float32Array(this.recording.count);
      for (let k = 0; k < column.length; k++) {
        this.recording.read(k, this.frame);
        column[k] = channelValue(this.frame, channel);
      }
      this.columns.set(key, column);
    }
    return column[i];
  }
}

const MOST_SAMPLES = 6000;
const MOST_NUMBERS = 3e6;

/** The last moments of a live run: a ring that never grows. */
export class LiveSeries implements Series {
  revision = 0;
  private readonly stride: number;
  private readonly capacity: number;
  private readonly times: Float64Array;
  private readonly numbers: Float32Array;
  private head = 0;
  length = 0;

  constructor(private readonly scene: Scene) {
    const sensorValues = scene.sensors.reduce((end, sensor) => Math.max(end, sensor.start + sensor.dim), 0);
    this.stride = 2 + scene.nq + scene.nu + sensorValues;
    this.capacity = Math.max(16, Math.min(MOST_SAMPLES, Math.floor(MOST_NUMBERS / this.stride)));
    this.times = new Float64Array(this.capacity);
    this.numbers = new Float32Array(this.capacity * this.stride);
  }

  push(frame: Frame): void {
    if (this.length > 0) {
      const last = this.time(this.length - 1);
      if (frame.time === last) this.length--;
      else if (frame.time < last) this.clear(); // The run was reset.
    }
    const slot = (this.head + this.length) % this.capacity;
    if (this.length === this.capacity) this.head = (this.head + 1) % this.capacity;
    else this.length++;
    this.times[slot] = frame.time;
    const at = slot * this.stride;
    this.numbers[at] = frame.kinetic;
    this.numbers[at + 1] = frame.potential;
    // Joint coordinates, controls and sensor values follow each other in a frame too.
    for (let i = 0; i < this.stride - 2; i++) this.numbers[at + 2 + i] = frame.floats[frame.qposAt + i];
    this.revision++;
  }

  clear(): void {
    this.length = 0;
    this.head = 0;
    this.revision++;
  }

  time(i: number): number {
    return this.times[(this.head + i) % this.capacity];
  }

  value(i: number, channel: Channel): number {
    const at = ((this.head + i) % this.capacity) * this.stride;
    const { nq, nu } = this.scene;
    switch (channel.source) {
      case "kinetic":
        return this.numbers[at];
      case "potential":
        return this.numbers[at + 1];
      case "total":
        return this.numbers[at] + this.numbers[at + 1];
      case "qpos":
        return this.numbers[at + 2 + channel.index];
      case "ctrl":
        return this.numbers[at + 2 + nq + channel.index];
      case "sensor":
        return this.numbers[at + 2 + nq + nu + channel.index];
    }
  }
}

/** First index whose time is not before `time`. */
export function firstAt(series: Series, time: number): number {
  let low = 0;
  let high = series.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.time(middle) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
