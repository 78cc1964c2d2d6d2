/** What server and page say to each other, version 1: the scene as JSON, frames and recordings as bytes. */

export const FRAME_MAGIC = 0x31465243; // "CRF1"
export const RECORDING_MAGIC = 0x31525243; // "CRR1"
const HEADER_BYTES = 64;

export const POSE = 7;
export const CONTACT = 9;
export const TENDON_POINT = 4;

export type ShapeKind = "plane" | "sphere" | "capsule" | "ellipsoid" | "cylinder" | "box" | "mesh" | "hfield";

export interface Body {
  name: string;
  parent: number;
  mass: number;
  inertial_pos: number[];
}

export interface Material {
  specular: number;
  shininess: number;
  reflectance: number;
  emission: number;
}

/** What geoms and sites have in common. */
export interface Shape {
  name: string;
  body: number;
  kind: ShapeKind;
  size: number[];
  pos: number[];
  quat: number[];
  rgba: number[];
  group: number;
  mesh?: number | null;
  hfield?: number | null;
  material?: Material | null;
}

export interface MeshData {
  name: string;
  vertices: string;
  faces: string;
}

export interface HeightField {
  rows: number;
  columns: number;
  size: number[];
  values: string;
}

export interface Joint {
  name: string;
  kind: "free" | "ball" | "slide" | "hinge";
  body: number;
  pos: number[];
  axis: number[];
  range: number[] | null;
  qpos: number;
  dof: number;
}

export interface Actuator {
  name: string;
  range: number[] | null;
  unit: string;
}

export interface Sensor {
  name: string;
  kind: string;
  start: number;
  dim: number;
}

export interface Tendon {
  name: string;
  rgba: number[];
  width: number;
}

export interface Scene {
  version: number;
  name: string;
  timestep: number;
  gravity: number[];
  extent: number;
  center: number[];
  nq: number;
  nv: number;
  nu: number;
  bodies: Body[];
  geoms: Shape[];
  meshes: MeshData[];
  hfields: HeightField[];
  sites: Shape[];
  joints: Joint[];
  actuators: Actuator[];
  sensors: Sensor[];
  tendons: Tendon[];
  keyframes: string[];
  has_gradients: boolean;
}

export interface Status {
  paused: boolean;
  speed: number;
  mode: "live" | "recording";
  real_time_factor: number;
  message: string | null;
  error: string | null;
  frames: number | null;
  duration: number | null;
}

export type Command =
  | { type: "pause" | "resume" | "reset" | "release" }
  | { type: "step"; count?: number }
  | { type: "keyframe"; index: number }
  | { type: "speed"; value: number }
  | { type: "control"; index: number; value: number }
  | { type: "qpos"; index: number; value: number }
  | { type: "drag"; body: number; point: number[]; target: number[] }
  | { type: "shown"; frame: number };

/** Data that is not what the protocol says. */
export class ProtocolError extends Error {}

/** One frame, as places in a larger array: reading one allocates nothing. */
export class Frame {
  floats: Float32Array = new Float32Array(0);
  number = 0;
  time = 0;
  kinetic = 0;
  potential = 0;
  bodies = 0;
  contacts = 0;
  tendonPoints = 0;
  nq = 0;
  nu = 0;
  sensorValues = 0;
  hasGradient = false;
  poseAt = 0;
  contactAt = 0;
  tendonAt = 0;
  qposAt = 0;
  ctrlAt = 0;
  sensorAt = 0;
  gradientAt = 0;
}

/** Bytes with the two ways of looking at them. */
export class Bytes {
  readonly view: DataView;
  readonly floats: Float32Array;

  constructor(readonly buffer: ArrayBuffer) {
    this.view = new DataView(buffer);
    this.floats = new Float32Array(buffer, 0, buffer.byteLength >> 2);
  }
}

export function magicOf(buffer: ArrayBuffer): number {
  return buffer.byteLength < 4 ? 0 : new DataView(buffer).getUint32(0, true);
}

/** Reads the frame of `length` bytes at byte `at` into `frame`. */
export function readFrame(bytes: Bytes, at: number, length: number, frame: Frame): void {
  const { view } = bytes;
  if (length < HEADER_BYTES) throw new ProtocolError(`a frame has ${length} bytes, fewer than its header of ${HEADER_BYTES}`);
  if (at + length > view.byteLength) throw new ProtocolError(`a frame of ${length} bytes ends behind the data`);
  if (view.getUint32(at, true) !== FRAME_MAGIC) throw new ProtocolError("a frame does not begin with CRF1");
  frame.floats = bytes.floats;
  frame.number = view.getUint32(at + 4, true);
  frame.time = view.getFloat64(at + 8, true);
  frame.kinetic = view.getFloat64(at + 16, true);
  frame.potential = view.getFloat64(at + 24, true);
  frame.bodies = view.getUint32(at + 32, true);
  frame.contacts = view.getUint32(at + 36, true);
  frame.tendonPoints = view.getUint32(at + 40, true);
  frame.nq = view.getUint32(at + 44, true);
  frame.nu = view.getUint32(at + 48, true);
  frame.sensorValues = view.getUint32(at + 52, true);
  frame.hasGradient = (view.getUint32(at + 56, true) & 1) === 1;
  frame.poseAt = (at + HEADER_BYTES) >> 2;
  frame.contactAt = frame.poseAt + POSE * frame.bodies;
  frame.tendonAt = frame.contactAt + CONTACT * frame.contacts;
  frame.qposAt = frame.tendonAt + TENDON_POINT * frame.tendonPoints;
  frame.ctrlAt = frame.qposAt + frame.nq;
  frame.sensorAt = frame.ctrlAt + frame.nu;
  frame.gradientAt = frame.sensorAt + frame.sensorValues;
  const end = 4 * (frame.gradientAt + (frame.hasGradient ? 3 * frame.bodies : 0));
  if (end !== at + length) {
    throw new ProtocolError(`frame ${frame.number} has ${length} bytes; its counts ask for ${end - at}`);
  }
}

/** What does not fit between a frame and its scene, or null. */
export function frameMismatch(frame: Frame, scene: Scene): string | null {
  const sensorValues = scene.sensors.reduce((end, sensor) => Math.max(end, sensor.start + sensor.dim), 0);
  const counts: [string, number, number][] = [
    ["bodies", frame.bodies, scene.bodies.length],
    ["joint coordinates", frame.nq, scene.nq],
    ["controls", frame.nu, scene.nu],
    ["sensor values", frame.sensorValues, sensorValues],
  ];
  for (const [what, got, expected] of counts) {
    if (got !== expected) return `a frame has ${got} ${what}, the model ${expected}: they belong to different models`;
  }
  return null;
}

export function decodeBase64(text: string): ArrayBuffer {
  let binary: string;
  try {
    binary = atob(text.trim());
  } catch {
    throw new ProtocolError("data is not base64");
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

export function decodeFloats(text: string): Float32Array {
  const buffer = decodeBase64(text);
  if (buffer.byteLength % 4 !== 0) throw new ProtocolError("an array of numbers is cut short");
  return new Float32Array(buffer);
}

export function decodeIndices(text: string): Uint32Array {
  const buffer = decodeBase64(text);
  if (buffer.byteLength % 4 !== 0) throw new ProtocolError("an array of indices is cut short");
  return new Uint32Array(buffer);
}
