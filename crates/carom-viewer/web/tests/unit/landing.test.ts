import { expect, test } from "vitest";
import { LIGHT } from "../../src/colours";
import { freeBodies, landing } from "../../src/landing";
import { Bytes, Frame, readFrame, type Scene, type Shape } from "../../src/protocol";
import { SceneView } from "../../src/scene";
import { encodeFrame } from "../fake-model.mjs";

const HALF = 0.05;
const RADIUS = HALF * Math.sqrt(3);

function shape(kind: Shape["kind"], body: number, size: number[], pos = [0, 0, 0]): Shape {
  return { name: "", body, kind, size, pos, quat: [1, 0, 0, 0], rgba: [1, 1, 1, 1], group: 0, mesh: null, hfield: null, material: null };
}

/** A box at `height` over what `below` says, with a joint of a kind. */
function model(height: number, below: Shape[], kind: "free" | "hinge" = "free", gravity = [0, 0, -9.81]): SceneView {
  const scene: Scene = {
    version: 1, name: "box", timestep: 0.01, gravity, extent: 1, center: [0, 0, 0], nq: 7, nv: 6, nu: 0,
    bodies: [
      { name: "world", parent: 0, mass: 0, inertial_pos: [0, 0, 0] },
      { name: "box", parent: 0, mass: 1, inertial_pos: [0, 0, 0] },
      { name: "on the box", parent: 1, mass: 1, inertial_pos: [0, 0, 0] },
    ],
    geoms: [...below, shape("box", 1, [HALF, HALF, HALF])],
    meshes: [], hfields: [], sites: [], actuators: [], sensors: [], tendons: [], keyframes: [], has_gradients: false,
    joints: [{ name: "", kind, body: 1, pos: [0, 0, 0], axis: [0, 0, 1], range: null, qpos: 0, dof: 0 }],
  };
  const view = new SceneView(scene, LIGHT, false);
  const poses = [[0, 0, 0, 1, 0, 0, 0], [0.3, 0.2, height, 1, 0, 0, 0], [0.3, 0.2, height, 1, 0, 0, 0]];
  const bytes = encodeFrame({ number: 1, time: 0, kinetic: 0, potential: 0, poses, contacts: [], tendon: [], qpos: [], ctrl: [], sensors: [], gradient: null });
  const buffer = new Uint8Array(bytes).buffer as ArrayBuffer;
  const frame = new Frame();
  readFrame(new Bytes(buffer), 0, buffer.byteLength, frame);
  view.place(frame, null, 0);
  return view;
}

const floor = shape("plane", 0, [0, 0, 1]);

test("bodies on a free body are free, the world and what is held are not", () => {
  expect([...freeBodies(model(1, []).scene)]).toEqual([1, 2]);
  expect([...freeBodies(model(1, [], "hinge").scene)]).toEqual([]);
});

test("a box lands on planes with and without an end, and on fixed boxes", () => {
  for (const [below, top] of [
    [[floor], 0],
    [[shape("plane", 0, [2, 2, 1])], 0],
    [[floor, shape("box", 0, [1, 1, 0.1])], 0.1],
  ] as const) {
    const ball = landing(model(0.4, [...below]));
    expect(ball?.radius).toBeCloseTo(RADIUS, 6);
    expect(ball?.center.toArray().map((x) => Number(x.toFixed(5)))).toEqual([0.3, 0.2, Number((top + RADIUS).toFixed(5))]);
  }
});

test("there is no landing where nothing falls, nothing is below, or it is far", () => {
  expect(landing(model(HALF, [floor]))).toBeNull();
  expect(landing(model(0.4, []))).toBeNull();
  expect(landing(model(0.4, [shape("plane", 0, [0.1, 0.1, 1])]))).toBeNull();
  expect(landing(model(0.4, [floor], "hinge"))).toBeNull();
  expect(landing(model(0.4, [floor], "free", [0, 0, 0]))).toBeNull();
  expect(landing(model(40, [floor]))).toBeNull();
});
