/** The model in space: one Object3D per body, and all shapes of one geometry and material drawn as instances. */
import {
  Color,
  FrontSide,
  Group,
  InstancedMesh,
  Matrix4,
  MeshStandardMaterial,
  Object3D,
  Quaternion,
  Sphere,
  Vector3,
  DynamicDrawUsage,
} from "three";
import { fromRgba, geomColour, type Palette } from "./colours";
import { Geometries } from "./geometry";
import { Ground } from "./ground";
import { type Frame, POSE, type Scene, type Shape } from "./protocol";

/** Shapes that are drawn together. */
export interface Batch {
  mesh: InstancedMesh;
  prepass: InstancedMesh | null;
  shapes: number[];
  bodies: number[];
  locals: Matrix4[];
  group: number;
  isSite: boolean;
  /** Only the world's: placed once. */
  fixed: boolean;
  placed: boolean;
}

export interface ViewOptions {
  groups: boolean[];
  sites: boolean;
  wireframe: boolean;
  transparent: boolean;
}

const TRANSPARENT_OPACITY = 0.32;
/** Opacity of a ghost where it faces us and at its rim. */
const GHOST_OPACITY = [0.26, 0.8];

export class SceneView {
  readonly root = new Group();
  readonly bodies: Object3D[];
  readonly batches: Batch[] = [];
  readonly grounds: Ground[] = [];
  private readonly geometries: Geometries;
  private readonly materials = new Map<string, MeshStandardMaterial>();
  private readonly colour = new Color();
  private readonly from = new Quaternion();
  private readonly to = new Quaternion();
  private selected = -1;

  /** `ghost` scenes show what moves, translucent and in one tint. */
  constructor(
    readonly scene: Scene,
    private palette: Palette,
    private readonly ghost: boolean,
  ) {
    this.geometries = new Geometries(scene);
    this.bodies = scene.bodies.map((body, i) => {
      const object = new Object3D();
      object.name = body.name || `body ${i}`;
      object.matrixAutoUpdate = false;
      this.root.add(object);
      return object;
    });
    this.addBatches(scene.geoms, false);
    if (!ghost) this.addBatches(scene.sites, true);
    this.paint(palette);
  }

  private addBatches(shapes: Shape[], isSite: boolean): void {
    const buckets = new Map<string, number[]>();
    shapes.forEach((shape, i) => {
      if (this.ghost && shape.body === 0) return;
      if (shape.kind === "plane") {
        if (!this.ghost && !isSite) this.addGround(shape, i);
        return;
      }
      const { key } = this.geometries.of(shape);
      const bucket = `${key}|${this.materialKey(shape, isSite)}|${shape.group}|${shape.body === 0}`;
      buckets.set(bucket, [...(buckets.get(bucket) ?? []), i]);
    });
    for (const members of buckets.values()) this.addBatch(shapes, members, isSite);
  }

  private addGround(shape: Shape, index: number): void {
    const ground = new Ground(shape, index, this.scene.extent, this.palette);
    this.grounds.push(ground);
    this.root.add(ground.mesh);
  }

  private addBatch(shapes: Shape[], members: number[], isSite: boolean): void {
    const first = shapes[members[0]];
    const { geometry } = this.geometries.of(first);
    const material = this.material(first, isSite);
    const mesh = new InstancedMesh(geometry, material, members.length);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.frustumCulled = false;
    mesh.matrixAutoUpdate = false;
    // Rays are tried against every instance: a sphere computed once would be wrong after the first motion.
    mesh.boundingSphere = new Sphere(new Vector3(), Infinity);
    mesh.castShadow = !this.ghost && !isSite && first.rgba[3] > 0.5;
    mesh.receiveShadow = !this.ghost;
    const batch: Batch = {
      mesh,
      prepass: null,
      shapes: members,
      bodies: members.map((i) => shapes[i].body),
      locals: members.map((i) => localMatrix(shapes[i], this.geometries.of(shapes[i]).scale)),
      group: first.group,
      isSite,
      fixed: first.body === 0,
      placed: false,
    };
    if (this.ghost) {
      // Depth first, so that only the outer skin of the ghost is seen.
      const depth = new MeshStandardMaterial({ colorWrite: false, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 });
      batch.prepass = new InstancedMesh(geometry, depth, members.length);
      batch.prepass.instanceMatrix = mesh.instanceMatrix;
      batch.prepass.frustumCulled = false;
      batch.prepass.matrixAutoUpdate = false;
      batch.prepass.renderOrder = 5;
      batch.prepass.raycast = () => {};
      mesh.renderOrder = 6;
      this.root.add(batch.prepass);
    }
    this.batches.push(batch);
    this.root.add(mesh);
  }

  private materialKey(shape: Shape, isSite: boolean): string {
    if (this.ghost) return "ghost";
    const m = shape.material;
    const emission = m && m.emission > 0 ? `${m.emission} ${shape.rgba.join(" ")}` : "";
    const finish = m ? `${m.specular} ${m.shininess} ${m.reflectance}` : "";
    return `${isSite} ${shape.rgba[3]} ${finish} ${emission} ${shape.kind === "hfield"}`;
  }

  private material(shape: Shape, isSite: boolean): MeshStandardMaterial {
    const key = this.materialKey(shape, isSite);
    const known = this.materials.get(key);
    if (known) return known;
    const finish = shape.material ?? { specular: 0.5, shininess: 0.5, reflectance: 0, emission: 0 };
    const gloss = Math.min(1, Math.max(0, finish.shininess)) * (0.4 + 1.2 * Math.min(1, Math.max(0, finish.specular)));
    const material = new MeshStandardMaterial({
      roughness: this.ghost ? 0.6 : Math.min(1, Math.max(0.14, 0.8 - 0.5 * gloss)),
      metalness: Math.min(0.6, 0.6 * finish.reflectance),
      side: FrontSide,
    });
    material.userData.opacity = this.ghost ? 0.99 : Math.min(1, Math.max(0, shape.rgba[3]));
    if (finish.emission > 0) {
      fromRgba(shape.rgba, material.emissive);
      material.emissiveIntensity = finish.emission;
    }
    if (this.ghost) {
      material.onBeforeCompile = (shader) => {
        shader.fragmentShader = shader.fragmentShader.replace(
          "#include <opaque_fragment>",
          `float rim = 1.0 - abs(dot(normalize(normal), normalize(vViewPosition)));
          diffuseColor.a *= mix(${GHOST_OPACITY[0]}, ${GHOST_OPACITY[1]}, rim * rim);
          #include <opaque_fragment>`,
        );
      };
    }
    material.opacity = material.userData.opacity as number;
    material.transparent = material.opacity < 1;
    material.depthWrite = material.opacity > 0.5 || this.ghost;
    this.materials.set(key, material);
    return material;
  }

  /** Colours everything for a theme. */
  paint(palette: Palette): void {
    this.palette = palette;
    for (const ground of this.grounds) ground.paint(palette);
    for (const batch of this.batches) {
      const shapes = batch.isSite ? this.scene.sites : this.scene.geoms;
      batch.shapes.forEach((shape, i) => {
        if (this.ghost) this.colour.copy(palette.ghost);
        else if (batch.isSite) fromRgba(shapes[shape].rgba, this.colour);
        else geomColour(shapes[shape], this.scene, palette, this.colour);
        if (batch.bodies[i] === this.selected && !this.ghost) this.colour.lerp(palette.accent, 0.28);
        batch.mesh.setColorAt(i, this.colour);
      });
      if (batch.mesh.instanceColor) batch.mesh.instanceColor.needsUpdate = true;
    }
  }

  select(body: number): void {
    this.selected = body;
    this.paint(this.palette);
  }

  setOptions(options: ViewOptions): void {
    for (const batch of this.batches) {
      const visible = options.groups[batch.group] !== false && (!batch.isSite || options.sites);
      batch.mesh.visible = visible;
      if (batch.prepass) batch.prepass.visible = visible && !options.wireframe;
    }
    for (const ground of this.grounds) {
      ground.mesh.visible = options.groups[ground.shape.group] !== false;
      ground.setWireframe(options.wireframe);
    }
    for (const material of this.materials.values()) {
      material.wireframe = options.wireframe;
      const opacity = (material.userData.opacity as number) * (options.transparent && !this.ghost ? TRANSPARENT_OPACITY : 1);
      const transparent = opacity < 1;
      if (material.transparent !== transparent) material.needsUpdate = true;
      material.opacity = opacity;
      material.transparent = transparent;
      material.depthWrite = opacity > 0.5 || this.ghost;
    }
  }

  /**
   * Places all bodies as in `frame`, or `fraction` of the way to `next`. Bodies whose pose is not finite stay where they are
   * (drawing them can stall graphics drivers); their number is returned.
   */
  place(frame: Frame, next: Frame | null, fraction: number): number {
    const count = Math.min(this.bodies.length, frame.bodies);
    let lost = 0;
    for (let i = 0; i < count; i++) {
      const body = this.bodies[i];
      const at = frame.poseAt + POSE * i;
      const a = frame.floats;
      if (!isFinitePose(a, at)) {
        lost++;
        continue;
      }
      body.position.set(a[at], a[at + 1], a[at + 2]);
      body.quaternion.set(a[at + 4], a[at + 5], a[at + 6], a[at + 3]);
      if (next && fraction > 0 && isFinitePose(next.floats, next.poseAt + POSE * i)) {
        const b = next.floats;
        const to = next.poseAt + POSE * i;
        body.position.set(
          body.position.x + fraction * (b[to] - body.position.x),
          body.position.y + fraction * (b[to + 1] - body.position.y),
          body.position.z + fraction * (b[to + 2] - body.position.z),
        );
        this.from.copy(body.quaternion);
        this.to.set(b[to + 4], b[to + 5], b[to + 6], b[to + 3]);
        body.quaternion.slerpQuaternions(this.from, this.to, fraction);
      }
      body.updateMatrix();
      body.matrixWorld.copy(body.matrix);
    }
    for (const batch of this.batches) this.placeBatch(batch);
    return lost;
  }

  private placeBatch(batch: Batch): void {
    if (batch.fixed && batch.placed) return;
    const array = batch.mesh.instanceMatrix.array as Float32Array;
    for (let i = 0; i < batch.shapes.length; i++) {
      scratch.multiplyMatrices(this.bodies[batch.bodies[i]].matrixWorld, batch.locals[i]);
      scratch.toArray(array, 16 * i);
    }
    batch.mesh.instanceMatrix.needsUpdate = true;
    batch.placed = true;
  }

  /** Poses as shown, nbody × 7, read back from the objects' world matrices. */
  poses(): Float32Array {
    const out = new Float32Array(this.bodies.length * POSE);
    const position = new Vector3();
    const quaternion = new Quaternion();
    const scale = new Vector3();
    this.bodies.forEach((body, i) => {
      body.matrixWorld.decompose(position, quaternion, scale);
      // A rotation is two quaternions: report the one that was sent.
      const sign = quaternion.dot(body.quaternion) < 0 ? -1 : 1;
      out.set([position.x, position.y, position.z, sign * quaternion.w, sign * quaternion.x, sign * quaternion.y, sign * quaternion.z], POSE * i);
    });
    return out;
  }

  /** Appends balls (x, y, z, radius) around what is shown: `bodies`, or what moves, or everything if nothing does. */
  collectBalls(out: number[], bodies: ReadonlySet<number> | null = null): void {
    for (const movingOnly of [true, false]) {
      for (const batch of this.batches) {
        const ball = batch.mesh.geometry.boundingSphere;
        if (!ball || !batch.mesh.visible || batch.isSite || (movingOnly && batch.fixed)) continue;
        for (let i = 0; i < batch.shapes.length; i++) {
          if (bodies && !bodies.has(batch.bodies[i])) continue;
          scratch.multiplyMatrices(this.bodies[batch.bodies[i]].matrixWorld, batch.locals[i]);
          scratchSphere.copy(ball).applyMatrix4(scratch);
          const { center, radius } = scratchSphere;
          if (Number.isFinite(center.x + center.y + center.z + radius)) out.push(center.x, center.y, center.z, radius);
        }
      }
      if (out.length > 0) return;
    }
  }

  dispose(): void {
    for (const batch of this.batches) {
      batch.mesh.dispose();
      if (batch.prepass) {
        (batch.prepass.material as MeshStandardMaterial).dispose();
        batch.prepass.dispose();
      }
    }
    for (const ground of this.grounds) ground.dispose();
    for (const material of this.materials.values()) material.dispose();
    this.geometries.dispose();
    this.root.removeFromParent();
  }
}

/** A ball around balls: the middle of their box, and as far as the farthest reaches. */
export function ballAround(balls: number[], out: Sphere): Sphere {
  const low = new Vector3(Infinity, Infinity, Infinity);
  const high = new Vector3(-Infinity, -Infinity, -Infinity);
  const centre = new Vector3();
  for (let i = 0; i < balls.length; i += 4) {
    centre.fromArray(balls, i);
    low.min(centre.addScalar(-balls[i + 3]));
    high.max(centre.addScalar(2 * balls[i + 3]));
  }
  out.center.addVectors(low, high).multiplyScalar(0.5);
  out.radius = 0;
  for (let i = 0; i < balls.length; i += 4) {
    out.radius = Math.max(out.radius, centre.fromArray(balls, i).distanceTo(out.center) + balls[i + 3]);
  }
  return out;
}

function isFinitePose(floats: Float32Array, at: number): boolean {
  for (let k = at; k < at + POSE; k++) if (!Number.isFinite(floats[k])) return false;
  return true;
}

const scratch = new Matrix4();
const scratchSphere = new Sphere();

function localMatrix(shape: Shape, scale: Vector3): Matrix4 {
  const [w, x, y, z] = shape.quat;
  return new Matrix4().compose(new Vector3().fromArray(shape.pos), new Quaternion(x, y, z, w).normalize(), scale);
}
