import { describe, expect, it } from "vitest";
import { encodeFrame, encodeRecording, fakeFrame, fakeRecording, fakeScene, posesOf } from "../fake-model.mjs";
import { Bytes, decodeFloats, Frame, frameMismatch, magicOf, POSE, readFrame, RECORDING_MAGIC } from "../../src/protocol";
import { parseRecording } from "../../src/recording";
import { checkScene, label } from "../../src/scene-data";

const scene = fakeScene();

function arrayBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

function read(bytes: Buffer): Frame {
  const frame = new Frame();
  readFrame(new Bytes(arrayBuffer(bytes)), 0, bytes.length, frame);
  return frame;
}

describe("frames", () => {
  it("are read back as they were written", () => {
    const bytes = fakeFrame(scene, 17, 0.25, { ctrl: [0.5, -1] });
    const frame = read(bytes);
    expect(frame.number).toBe(17);
    expect(frame.time).toBe(0.25);
    expect(frame.kinetic + frame.potential).toBeCloseTo(12, 12);
    expect(frame.bodies).toBe(scene.bodies.length);
    expect(frame.contacts).toBe(2);
    expect(frame.tendonPoints).toBe(6);
    expect(frame.hasGradient).toBe(true);
    expect([...frame.floats.subarray(frame.poseAt, frame.poseAt + POSE * frame.bodies)]).toEqual(posesOf(bytes));
    expect([...frame.floats.subarray(frame.ctrlAt, frame.ctrlAt + 2)]).toEqual([0.5, -1]);
    expect(frame.floats[frame.contactAt + 5]).toBe(1); // The normal's z.
    expect(frame.gradientAt + 3 * frame.bodies).toBe(bytes.length / 4);
    expect(frameMismatch(frame, checkScene(scene))).toBeNull();
  });

  it("without a gradient end after the sensors", () => {
    const frame = read(encodeFrame({ number: 0, time: 0, kinetic: 0, potential: 0, poses: [[0, 0, 0, 1, 0, 0, 0]], contacts: [], tendon: [], qpos: [], ctrl: [], sensors: [2.5], gradient: null }));
    expect(frame.hasGradient).toBe(false);
    expect(frame.floats[frame.sensorAt]).toBe(2.5);
  });

  it("that are cut, too long or foreign are refused with a sentence", () => {
    const bytes = fakeFrame(scene, 3, 0);
    expect(() => read(bytes.subarray(0, 40))).toThrow("fewer than its header");
    expect(() => read(bytes.subarray(0, bytes.length - 4))).toThrow("frame 3 has");
    expect(() => read(Buffer.concat([bytes, Buffer.alloc(4)]))).toThrow("its counts ask for");
    const foreign = Buffer.from(bytes);
    foreign.writeUInt32LE(7, 0);
    expect(() => read(foreign)).toThrow("CRF1");
    const many = Buffer.from(bytes);
    many.writeUInt32LE(0xffffffff, 36);
    expect(() => read(many)).toThrow("its counts ask for");
  });

  it("of another model are recognised", () => {
    const other = checkScene({ ...scene, nu: 3 });
    expect(frameMismatch(read(fakeFrame(scene, 0, 0)), other)).toContain("2 controls, the model 3");
  });
});

describe("recordings", () => {
  it("have their frames in order", () => {
    const recording = parseRecording(arrayBuffer(fakeRecording(scene, "läuft", 0, 5, 0.5)), new Frame());
    expect(recording.name).toBe("läuft");
    expect([...recording.times]).toEqual([0, 0.5, 1, 1.5, 2]);
    const frame = new Frame();
    recording.read(3, frame);
    expect(frame.time).toBe(1.5);
    const sent = posesOf(fakeFrame(scene, 3, 1.5));
    expect([...frame.floats.subarray(frame.poseAt, frame.poseAt + sent.length)]).toEqual(sent);
    expect(recording.named("other").name).toBe("other");
  });

  it("that are damaged are refused with a sentence", () => {
    const good = fakeRecording(scene, "run", 0, 3);
    expect(magicOf(arrayBuffer(good))).toBe(RECORDING_MAGIC);
    const parse = (bytes: Buffer) => () => parseRecording(arrayBuffer(bytes), new Frame());
    expect(parse(Buffer.from("not a recording"))).toThrow("does not begin with CRR1");
    expect(parse(good.subarray(0, good.length - 100))).toThrow(/ends behind the data|cut short/);
    expect(parse(encodeRecording("none", []))).toThrow("no frames");
    const back = encodeRecording("back", [fakeFrame(scene, 0, 1), fakeFrame(scene, 1, 0.5)]);
    expect(parse(back)).toThrow("time goes back at frame 1");
    const huge = Buffer.from(good);
    huge.writeUInt32LE(0xfffffff0, 4);
    expect(parse(huge)).toThrow("too short for the");
    const name = Buffer.from(good);
    name.writeUInt32LE(0x7fffffff, 8);
    expect(parse(name)).toThrow("within its name");
    expect(parse(encodeRecording("nan", [fakeFrame(scene, 0, NaN)]))).toThrow("no finite time");
  });
});

describe("scenes", () => {
  it("are taken as they are when they are right", () => {
    expect(checkScene(scene)).toEqual(scene);
  });

  it("that are wrong are refused by name", () => {
    const geom = { ...scene.geoms[4] };
    const withGeom = (change: object) => () => checkScene({ ...scene, geoms: [{ ...geom, name: "g", ...change }] });
    expect(() => checkScene(null)).toThrow("not an object");
    expect(() => checkScene({ ...scene, version: 2 })).toThrow("version 2");
    expect(() => checkScene({ ...scene, bodies: [] })).toThrow("no bodies");
    expect(withGeom({ kind: "torus" })).toThrow('geom 0 "g" is a torus');
    expect(withGeom({ body: 99 })).toThrow("belongs to no body");
    expect(withGeom({ rgba: [1, 1] })).toThrow("rgba must be 4 numbers");
    expect(withGeom({ kind: "mesh", mesh: 5 })).toThrow("mesh that is not there");
  });

  it("without an extent get one", () => {
    expect(checkScene({ ...scene, extent: 0 }).extent).toBe(1);
  });

  it("name what has no name by kind and number", () => {
    expect(label("", "geom", 4)).toBe("geom 4");
    expect(label("arm", "geom", 4)).toBe("arm");
  });
});

describe("base64", () => {
  it("gives numbers, or says that it is none", () => {
    expect([...decodeFloats(Buffer.from(new Float32Array([1, -2.5]).buffer).toString("base64"))]).toEqual([1, -2.5]);
    expect(() => decodeFloats("AAA=")).toThrow("cut short");
    expect(() => decodeFloats("*")).toThrow("not base64");
  });
});
