/** A scene as it arrives, checked before anything is built from it. */
import { ProtocolError, type Scene, type Shape } from "./protocol";

const LISTS = ["bodies", "geoms", "meshes", "hfields", "sites", "joints", "actuators", "sensors", "tendons", "keyframes"] as const;
const KINDS = new Set(["plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "hfield"]);

function isNumbers(value: unknown, length: number): value is number[] {
  return Array.isArray(value) && value.length >= length && value.every((x) => typeof x === "number" && Number.isFinite(x));
}

function checkShape(shape: Shape, label: string, scene: Scene): void {
  if (!KINDS.has(shape.kind)) throw new ProtocolError(`${label} is a ${String(shape.kind)}, which this page does not know`);
  if (!(shape.body >= 0 && shape.body < scene.bodies.length)) throw new ProtocolError(`${label} belongs to no body`);
  for (const [field, length] of [["size", 3], ["pos", 3], ["quat", 4], ["rgba", 4]] as const) {
    if (!isNumbers(shape[field], length)) throw new ProtocolError(`${label}: ${field} must be ${length} numbers`);
  }
  if (shape.kind === "mesh" && !scene.meshes[shape.mesh ?? -1]) throw new ProtocolError(`${label} names a mesh that is not there`);
  if (shape.kind === "hfield" && !scene.hfields[shape.hfield ?? -1]) {
    throw new ProtocolError(`${label} names a height field that is not there`);
  }
}

/** The scene in a parsed JSON value; throws a sentence about the first thing wrong. */
export function checkScene(value: unknown): Scene {
  if (typeof value !== "object" || value === null) throw new ProtocolError("the scene is not an object");
  const scene = { ...value } as Scene;
  if (scene.version !== 1) throw new ProtocolError(`the scene has version ${String(scene.version)}; this page reads version 1`);
  for (const list of LISTS) {
    scene[list] ??= [];
    if (!Array.isArray(scene[list])) throw new ProtocolError(`the scene's ${list} are not a list`);
  }
  if (scene.bodies.length === 0) throw new ProtocolError("the scene has no bodies, not even the world");
  if (!(scene.extent > 0 && Number.isFinite(scene.extent))) scene.extent = 1;
  if (!isNumbers(scene.center, 3)) scene.center = [0, 0, 0];
  if (!isNumbers(scene.gravity, 3)) scene.gravity = [0, 0, -9.81];
  scene.geoms.forEach((geom, i) => checkShape(geom, `geom ${i} "${geom.name}"`, scene));
  scene.sites.forEach((site, i) => checkShape(site, `site ${i} "${site.name}"`, scene));
  for (const [i, joint] of scene.joints.entries()) {
    if (!scene.bodies[joint.body]) throw new ProtocolError(`joint ${i} "${joint.name}" belongs to no body`);
  }
  return scene;
}

/** A name to show: the thing's own, or what it is and its number. */
export function label(name: string | undefined, kind: string, index: number): string {
  return name ? name : `${kind} ${index}`;
}
