/** Where free bodies fall to, so that the first view of a live run has room for it. */
import { type Object3D, Raycaster, Sphere, Vector3 } from "three";
import type { Scene } from "./protocol";
import { ballAround, type SceneView } from "./scene";

/** Falls over more radii than this are left out of the view: what falls would be too small in it. */
const MOST_RADII = 8;

/** Bodies that nothing holds: those with a free joint, and what hangs on them. */
export function freeBodies(scene: Scene): Set<number> {
  const free = new Set(scene.joints.filter((joint) => joint.kind === "free").map((joint) => joint.body));
  // Parents come before their children.
  scene.bodies.forEach((body, i) => {
    if (i > 0 && free.has(body.parent)) free.add(i);
  });
  return free;
}

/** The ball around all free bodies, let down along gravity onto what is fixed below; null if it does not fall, or too far. */
export function landing(model: SceneView): Sphere | null {
  const { scene } = model;
  const down = new Vector3().fromArray(scene.gravity);
  const balls: number[] = [];
  model.collectBalls(balls, freeBodies(scene));
  if (down.lengthSq() === 0 || balls.length === 0) return null;
  const ball = ballAround(balls, new Sphere());
  const caster = new Raycaster(ball.center, down.normalize(), 0, MOST_RADII * ball.radius);
  const fixed = model.batches.filter((batch) => batch.fixed && !batch.isSite && batch.mesh.visible);
  const below: Object3D[] = fixed.map((batch) => batch.mesh);
  for (const ground of model.grounds) {
    if (ground.shape.body !== 0 || !ground.mesh.visible) continue;
    ground.place(model.bodies[0].matrixWorld, ball.center, caster.far);
    ground.mesh.updateMatrixWorld();
    below.push(ground.mesh);
  }
  const hit = caster.intersectObjects(below, false)[0];
  if (!hit || hit.distance <= ball.radius) return null;
  ball.center.addScaledVector(down, hit.distance - ball.radius);
  return ball;
}
