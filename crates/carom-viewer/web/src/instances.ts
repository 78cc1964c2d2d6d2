/** Many small things of one form, drawn at once: filled anew for each frame without allocating. */
import {
  type BufferGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  DynamicDrawUsage,
  GreaterDepth,
  Group,
  InstancedMesh,
  Matrix4,
  MeshStandardMaterial,
  type Object3D,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";

const Z = new Vector3(0, 0, 1);
const direction = new Vector3();
const middle = new Vector3();
const turn = new Quaternion();
const scale = new Vector3();
const matrix = new Matrix4();

/** Instances that shimmer through what hides them, unless they are things among things, with a shadow. */
export class Instances {
  readonly group = new Group();
  private mesh!: InstancedMesh;
  private hidden!: InstancedMesh;
  private readonly material: MeshStandardMaterial;
  private readonly hiddenMaterial: MeshStandardMaterial;
  private count = 0;

  constructor(
    private readonly geometry: BufferGeometry,
    parent: Object3D,
    private readonly shadows = false,
    vertexColors = false,
    private readonly seeThrough = 0.22,
  ) {
    this.material = new MeshStandardMaterial({ roughness: 0.5, vertexColors });
    this.hiddenMaterial = new MeshStandardMaterial({
      roughness: 0.5,
      vertexColors,
      transparent: true,
      opacity: seeThrough,
      depthFunc: GreaterDepth,
      depthWrite: false,
    });
    this.allocate(32);
    parent.add(this.group);
  }

  private allocate(capacity: number): void {
    const old = this.mesh as InstancedMesh | undefined;
    this.mesh = new InstancedMesh(this.geometry, this.material, capacity);
    this.mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    this.mesh.setColorAt(0, new Color());
    this.hidden = new InstancedMesh(this.geometry, this.hiddenMaterial, capacity);
    this.hidden.instanceMatrix = this.mesh.instanceMatrix;
    this.hidden.instanceColor = this.mesh.instanceColor;
    this.hidden.renderOrder = 20;
    this.mesh.castShadow = this.shadows;
    for (const mesh of [this.mesh, this.hidden]) {
      mesh.frustumCulled = false;
      mesh.matrixAutoUpdate = false;
      mesh.raycast = () => {};
    }
    if (old) {
      this.mesh.instanceMatrix.array.set(old.instanceMatrix.array);
      if (old.instanceColor) this.mesh.instanceColor?.array.set(old.instanceColor.array);
      old.dispose();
    }
    this.group.clear();
    this.group.add(this.mesh);
    if (this.seeThrough > 0) this.group.add(this.hidden);
  }

  begin(): void {
    this.count = 0;
  }

  add(transform: Matrix4, colour: Color): void {
    if (this.count === this.mesh.instanceMatrix.count) this.allocate(2 * this.count);
    this.mesh.setMatrixAt(this.count, transform);
    this.mesh.setColorAt(this.count, colour);
    this.count++;
  }

  end(): void {
    this.group.visible = this.count > 0;
    if (this.count === 0) return;
    this.mesh.count = this.hidden.count = this.count;
    this.mesh.instanceMatrix.needsUpdate = true;
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
  }

  dispose(): void {
    this.mesh.dispose();
    this.hidden.dispose();
    this.geometry.dispose();
    this.material.dispose();
    this.hiddenMaterial.dispose();
    this.group.removeFromParent();
  }
}

export class Balls extends Instances {
  constructor(parent: Object3D, shadows = false) {
    super(new SphereGeometry(1, 20, 14), parent, shadows, false, shadows ? 0 : undefined);
  }

  ball(centre: Vector3, radius: number, colour: Color): void {
    this.add(matrix.makeScale(radius, radius, radius).setPosition(centre), colour);
  }
}

/** Straight round bars between two points. */
export class Bars extends Instances {
  constructor(parent: Object3D, shadows = false) {
    super(new CylinderGeometry(1, 1, 1, 18).rotateX(Math.PI / 2), parent, shadows, false, shadows ? 0 : undefined);
  }

  bar(from: Vector3, to: Vector3, radius: number, colour: Color): void {
    direction.subVectors(to, from);
    const length = direction.length();
    if (!(length > 1e-9)) return;
    turn.setFromUnitVectors(Z, direction.divideScalar(length));
    middle.addVectors(from, to).multiplyScalar(0.5);
    this.add(matrix.compose(middle, turn, scale.set(radius, radius, length)), colour);
  }
}

export class Arrows {
  private readonly shafts: Instances;
  private readonly heads: Instances;

  constructor(parent: Object3D) {
    this.shafts = new Instances(new CylinderGeometry(1, 1, 1, 16).rotateX(Math.PI / 2).translate(0, 0, 0.5), parent);
    this.heads = new Instances(new ConeGeometry(1, 1, 20).rotateX(Math.PI / 2).translate(0, 0, 0.5), parent);
  }

  begin(): void {
    this.shafts.begin();
    this.heads.begin();
  }

  /** An arrow along the unit vector `along`. */
  arrow(from: Vector3, along: Vector3, length: number, radius: number, colour: Color): void {
    if (!(length > 1e-9)) return;
    const head = Math.min(5 * radius, 0.5 * length);
    turn.setFromUnitVectors(Z, along);
    this.shafts.add(matrix.compose(from, turn, scale.set(radius, radius, length - head)), colour);
    middle.copy(from).addScaledVector(along, length - head);
    this.heads.add(matrix.compose(middle, turn, scale.set(0.48 * head, 0.48 * head, head)), colour);
  }

  end(): void {
    this.shafts.end();
    this.heads.end();
  }

  dispose(): void {
    this.shafts.dispose();
    this.heads.dispose();
  }
}
