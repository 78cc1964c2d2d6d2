// A made-up model with every kind of shape and joint, whose motion is a formula: what the page must show is known exactly.

const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

/** A star-like solid: an octahedron with every face pulled out to a point. */
function starMesh() {
  const corners = [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]];
  const faces = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [1, 0, 5], [2, 1, 5], [3, 2, 5], [0, 3, 5]];
  const vertices = corners.map((corner) => corner.map((x) => 0.12 * x));
  const triangles = [];
  for (const [a, b, c] of faces) {
    const tip = [0, 1, 2].map((k) => 0.11 * (corners[a][k] + corners[b][k] + corners[c][k]));
    const t = vertices.push(tip) - 1;
    triangles.push([a, b, t], [b, c, t], [c, a, t]);
  }
  return { name: "star", vertices: base64(new Float32Array(vertices.flat())), faces: base64(new Uint32Array(triangles.flat())) };
}

function hills(rows, columns) {
  const values = new Float32Array(rows * columns);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const [y, x] = [r / (rows - 1), c / (columns - 1)];
      values[r * columns + c] = Math.min(1, Math.max(0, 0.45 + 0.3 * Math.sin(9 * x) * Math.cos(7 * y) + 0.2 * Math.sin(17 * x * y + 2)));
    }
  }
  return { rows, columns, size: [0.7, 0.5, 0.28, 0.05], values: base64(values) };
}

const shape = (fields) => ({
  name: "", pos: [0, 0, 0], quat: [1, 0, 0, 0], rgba: [0.5, 0.5, 0.5, 1], group: 0, mesh: null, hfield: null, material: null, collides: true, ...fields,
});

const joint = (fields) => ({ name: "", pos: [0, 0, 0], axis: [0, 0, 1], range: null, ...fields });

const LONG = "a_body_whose_name_is_much_longer_than_any_panel_of_this_page_could_ever_show_in_one_line";

export function fakeScene() {
  const bodies = [["world", 0, 0], ["ball", 0, 0.4], ["capsule", 0, 0.7], ["egg", 0, 0.5], ["drum", 0, 1.1], ["block", 0, 2], ["star", 0, 0.3],
    ["upper_arm", 0, 1.5], ["", 7, 0.9], [LONG, 0, 0.2]];
  return {
    version: 1, name: "every kind of thing", timestep: 0.002, gravity: [0, 0, -9.81], extent: 2.2, center: [0, 0, 0.4], nq: 7 * 6 + 2 + 4, nv: 6 * 6 + 2 + 3, nu: 2,
    bodies: bodies.map(([name, parent, mass]) => ({ name, parent, mass, inertial_pos: [0, 0, 0] })),
    geoms: [
      shape({ name: "floor", body: 0, kind: "plane", size: [0, 0, 0.05] }),
      shape({ name: "hills", body: 0, kind: "hfield", size: [0.7, 0.5, 0.28], pos: [0, 1.5, 0.05], hfield: 0, rgba: [0.55, 0.62, 0.48, 1] }),
      shape({ name: "board", body: 0, kind: "plane", size: [0.4, 0.3, 0.05], pos: [-1.6, 0, 0.6], quat: [Math.cos(0.7), 0, Math.sin(0.7), 0], rgba: [0.3, 0.5, 0.8, 1] }),
      shape({ name: "post", body: 0, kind: "cylinder", size: [0.05, 0.4, 0], pos: [0, 0, 0.4] }),
      shape({ body: 1, kind: "sphere", size: [0.14, 0, 0] }),
      shape({ body: 2, kind: "capsule", size: [0.08, 0.16, 0] }),
      shape({ body: 3, kind: "ellipsoid", size: [0.1, 0.14, 0.2] }),
      shape({ body: 4, kind: "cylinder", size: [0.13, 0.12, 0] }),
      shape({ body: 5, kind: "box", size: [0.14, 0.1, 0.12], rgba: [0.8, 0.25, 0.2, 1], material: { specular: 0.9, shininess: 0.9, reflectance: 0, emission: 0 } }),
      shape({ body: 6, kind: "mesh", size: [0.2, 0.2, 0.2], mesh: 0, rgba: [0.95, 0.75, 0.2, 1] }),
      shape({ body: 7, kind: "capsule", size: [0.05, 0.2, 0], pos: [0, 0, 0.2] }),
      shape({ body: 8, kind: "capsule", size: [0.04, 0.18, 0], pos: [0, 0, 0.18] }),
      shape({ body: 9, kind: "box", size: [0.1, 0.1, 0.1], rgba: [0.3, 0.7, 0.9, 0.4] }),
      shape({ body: 9, kind: "sphere", size: [0.3, 0, 0], group: 4 }),
    ],
    meshes: [starMesh()],
    hfields: [hills(40, 56)],
    sites: [
      { name: "tip", body: 8, kind: "sphere", size: [0.03, 0.03, 0.03], pos: [0, 0, 0.4], quat: [1, 0, 0, 0], rgba: [0.9, 0.2, 0.6, 1], group: 0 },
    ],
    joints: [
      ...[1, 2, 3, 4, 5, 6].map((body, i) => joint({ name: `${bodies[body][0]}_root`, kind: "free", body, qpos: 7 * i, dof: 6 * i })),
      joint({ name: "shoulder", kind: "hinge", body: 7, axis: [0, 1, 0], range: [-2, 2], qpos: 42, dof: 36 }),
      joint({ name: "elbow", kind: "hinge", body: 8, axis: [0, 1, 0], qpos: 43, dof: 37 }),
      joint({ name: "", kind: "ball", body: 9, qpos: 44, dof: 38 }),
    ],
    actuators: [{ name: "shoulder_motor", range: [-2, 2], unit: "N m" }, { name: "", range: null, unit: "" }],
    sensors: [{ name: "tip_position", kind: "framepos", start: 0, dim: 3 }, { name: "elbow_angle", kind: "jointpos", start: 3, dim: 1 }],
    tendons: [{ name: "cable", rgba: [0.85, 0.3, 0.3, 1], width: 0.008 }],
    keyframes: ["home", ""],
    lights: [],
    has_gradients: true,
  };
}

const about = (axis, angle) => [Math.cos(angle / 2), ...axis.map((x) => x * Math.sin(angle / 2))];
const rotate = ([w, x, y, z], [a, b, c]) => {
  const t = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [a + w * t[0] + y * t[2] - z * t[1], b + w * t[1] + z * t[0] - x * t[2], c + w * t[2] + x * t[1] - y * t[0]];
};

/** The state at `time`; `hold` has what a user has set: controls, joints, an offset by dragging, and the phase of a ghost. */
export function fakeFrame(scene, number, time, hold = {}) {
  const { phase = 0, offset = {}, ctrl = [0, 0] } = hold;
  const poses = [[0, 0, 0, 1, 0, 0, 0]];
  for (let i = 1; i <= 6; i++) {
    const angle = (i * Math.PI) / 3 + 0.4 * (time + phase);
    const height = 0.2 + 0.25 * Math.abs(Math.sin(1.7 * (time + phase) + i));
    poses.push([0.9 * Math.cos(angle), 0.9 * Math.sin(angle), height, ...about([0.6, 0, 0.8], 1.3 * (time + phase) + i)]);
  }
  const shoulder = hold.joints?.[42] ?? 0.8 * Math.sin(time + phase) + 0.2 * ctrl[0];
  const elbow = hold.joints?.[43] ?? 0.9 + 0.5 * Math.sin(2.1 * (time + phase));
  const upper = about([0, 1, 0], shoulder);
  const lower = about([0, 1, 0], shoulder + elbow);
  const elbowPoint = rotate(upper, [0, 0, 0.4]).map((x, k) => x + [0, 0, 0.8][k]);
  const tip = rotate(lower, [0, 0, 0.4]).map((x, k) => x + elbowPoint[k]);
  poses.push([0, 0, 0.8, ...upper], [...elbowPoint, ...lower], [...tip.slice(0, 2), Math.max(0.1, tip[2] - 0.35), ...about([0, 0, 1], time)]);
  for (const [body, by] of Object.entries(offset)) for (let k = 0; k < 3; k++) poses[body][k] += by[k];
  const contacts = [4, 5].map((body) => [poses[body][0], poses[body][1], 0, 0, 0, 1, 3 * Math.sin(time), 2, 30 + 10 * Math.cos(3 * time)]);
  const nan = [NaN, NaN, NaN, 0];
  const tendon = [[0.3, -0.3, 0.02, 0], [...elbowPoint, 0], [...tip, 0], nan, [...tip, 0], [...poses[9].slice(0, 3), 0]];
  const qpos = [...poses.slice(1, 7).flat(), shoulder, elbow, ...poses[9].slice(3)];
  const gradient = poses.map(([x, y], i) => (i === 0 ? [0, 0, 0] : [-0.5 * y * Math.sin(time), 0.5 * x, 0.3 * Math.cos(time + i)]));
  return encodeFrame({
    number, time, kinetic: 4 + 3 * Math.sin(2 * (time + phase)), potential: 8 - 3 * Math.sin(2 * (time + phase)),
    poses, contacts, tendon, qpos, ctrl, sensors: [...tip, elbow], gradient: scene.has_gradients ? gradient : null,
  });
}

export function encodeFrame(frame) {
  const floats = [...frame.poses.flat(), ...frame.contacts.flat(), ...frame.tendon.flat(), ...frame.qpos, ...frame.ctrl, ...frame.sensors,
    ...(frame.gradient ? frame.gradient.flat() : [])];
  const bytes = Buffer.alloc(64 + 4 * floats.length);
  bytes.writeUInt32LE(0x31465243, 0);
  bytes.writeUInt32LE(frame.number, 4);
  bytes.writeDoubleLE(frame.time, 8);
  bytes.writeDoubleLE(frame.kinetic, 16);
  bytes.writeDoubleLE(frame.potential, 24);
  [frame.poses.length, frame.contacts.length, frame.tendon.length, frame.qpos.length, frame.ctrl.length, frame.sensors.length, frame.gradient ? 1 : 0]
    .forEach((count, i) => bytes.writeUInt32LE(count, 32 + 4 * i));
  floats.forEach((x, i) => bytes.writeFloatLE(x, 64 + 4 * i));
  return bytes;
}

export function encodeRecording(name, frames) {
  const text = Buffer.from(name);
  const head = Buffer.alloc(12 + 4 * Math.ceil(text.length / 4));
  head.writeUInt32LE(0x31525243, 0);
  head.writeUInt32LE(frames.length, 4);
  head.writeUInt32LE(text.length, 8);
  text.copy(head, 12);
  const parts = frames.flatMap((frame) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(frame.length);
    return [length, frame];
  });
  return Buffer.concat([head, ...parts]);
}

export function fakeRecording(scene, name, phase = 0, count = 151, step = 0.04) {
  return encodeRecording(name, Array.from({ length: count }, (_, i) => fakeFrame(scene, i, i * step, { phase })));
}

/** What an export is: the page with data in place of its mark. */
export function exportPage(page, scene, recordings) {
  const json = JSON.stringify(scene).replaceAll("</", "<\\/");
  const scripts = recordings.map(
    ({ name, bytes }) => `<script type="application/octet-stream" id="carom-recording" data-name="${name}">${bytes.toString("base64")}</script>`,
  );
  return page.replace("<!--carom-data-->", () => `<script type="application/json" id="carom-scene">${json}</script>${scripts.join("")}`);
}

/** The poses within an encoded frame. */
export function posesOf(frame) {
  const count = frame.readUInt32LE(32);
  return Array.from({ length: 7 * count }, (_, i) => frame.readFloatLE(64 + 4 * i));
}
