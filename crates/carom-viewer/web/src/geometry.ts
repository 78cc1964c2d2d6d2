/** Triangles for every kind of shape. Shapes that differ by scale alone share one geometry, so that they are drawn together. */
import { BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, CylinderGeometry, PlaneGeometry, SphereGeometry, Vector3 } from "three";
import { decodeFloats, decodeIndices, type HeightField, type MeshData, ProtocolError, type Scene, type Shape } from "./protocol";

/** A geometry and how to stretch it. */
export interface ScaledGeometry {
  key: string;
  geometry: BufferGeometry;
  scale: Vector3;
}

/** Corners sharper than this stay sharp in meshes. */
const CREASE_COSINE = Math.cos((38 * Math.PI) / 180);

export class Geometries {
  private readonly cache = new Map<string, BufferGeometry>();

  constructor(private readonly scene: Scene) {}

  of(shape: Shape): ScaledGeometry {
    const [x, y, z] = shape.size;
    switch (shape.kind) {
      case "sphere":
        return this.scaled("ball", unitBall, new Vector3(x, x, x));
      case "ellipsoid":
        return this.scaled("ball", unitBall, new Vector3(x, y, z));
      case "box":
        return this.scaled("box", () => new BoxGeometry(2, 2, 2), new Vector3(x, y, z));
      case "cylinder":
        return this.scaled("cylinder", unitCylinder, new Vector3(x, x, y));
      case "capsule": {
        const ratio = Math.round((y / Math.max(x, 1e-9)) * 1e4) / 1e4;
        return this.scaled(`capsule ${ratio}`, () => unitCapsule(ratio), new Vector3(x, x, x));
      }
      case "plane":
        return this.scaled("plane", () => new PlaneGeometry(2, 2), new Vector3(x || 1, y || 1, 1));
      case "mesh": {
        const index = shape.mesh ?? -1;
        return this.scaled(`mesh ${index}`, () => meshGeometry(this.scene.meshes[index]), new Vector3(1, 1, 1));
      }
      case "hfield": {
        const index = shape.hfield ?? -1;
        return this.scaled(`hfield ${index}`, () => heightFieldGeometry(this.scene.hfields[index]), new Vector3(1, 1, 1));
      }
    }
  }

  dispose(): void {
    for (const geometry of this.cache.values()) geometry.dispose();
  }

  private scaled(key: string, make: () => BufferGeometry, scale: Vector3): ScaledGeometry {
    let geometry = this.cache.get(key);
    if (!geometry) {
      geometry = make();
      geometry.computeBoundingSphere();
      this.cache.set(key, geometry);
    }
    // A scale of zero has no inverse, which normals need.
    scale.set(Math.max(scale.x, 1e-9), Math.max(scale.y, 1e-9), Math.max(scale.z, 1e-9));
    return { key, geometry, scale };
  }
}

export function unitBall(): BufferGeometry {
  return new SphereGeometry(1, 40, 28).rotateX(Math.PI / 2);
}

export function unitCylinder(): BufferGeometry {
  return new CylinderGeometry(1, 1, 2, 44).rotateX(Math.PI / 2);
}

/** Radius 1, along z, `ratio` from the middle to the centre of either cap. */
function unitCapsule(ratio: number): BufferGeometry {
  return new CapsuleGeometry(1, 2 * ratio, 14, 36).rotateX(Math.PI / 2);
}

function meshGeometry(mesh: MeshData): BufferGeometry {
  const vertices = decodeFloats(mesh.vertices);
  const faces = decodeIndices(mesh.faces);
  const count = vertices.length / 3;
  if (vertices.length % 3 !== 0 || faces.length % 3 !== 0 || faces.some((i) => i >= count)) {
    throw new ProtocolError(`mesh "${mesh.name}" has faces that name no vertex`);
  }
  return creased(vertices, faces);
}

/** Unindexed triangles whose corner normals average the neighbours that meet smoothly. */
export function creased(vertices: Float32Array, faces: Uint32Array): BufferGeometry {
  const merged = mergeByPosition(vertices);
  const faceCount = faces.length / 3;
  const faceNormals = new Float32Array(faceCount * 3); // Twice the area long: larger faces count for more.
  const heads = new Int32Array(merged.count).fill(-1);
  const next = new Int32Array(faces.length);
  const [a, b, c] = [new Vector3(), new Vector3(), new Vector3()];
  for (let f = 0; f < faceCount; f++) {
    a.fromArray(vertices, 3 * faces[3 * f]);
    b.fromArray(vertices, 3 * faces[3 * f + 1]).sub(a);
    c.fromArray(vertices, 3 * faces[3 * f + 2]).sub(a);
    b.cross(c).toArray(faceNormals, 3 * f);
    for (let k = 3 * f; k < 3 * f + 3; k++) {
      const vertex = merged.ids[faces[k]];
      next[k] = heads[vertex];
      heads[vertex] = k;
    }
  }
  const positions = new Float32Array(faces.length * 3);
  const normals = new Float32Array(faces.length * 3);
  for (let k = 0; k < faces.length; k++) {
    a.fromArray(faceNormals, 3 * Math.floor(k / 3));
    const length = a.length();
    c.set(0, 0, 0);
    for (let other = heads[merged.ids[faces[k]]]; other >= 0; other = next[other]) {
      b.fromArray(faceNormals, 3 * Math.floor(other / 3));
      if (a.dot(b) >= CREASE_COSINE * length * b.length()) c.add(b);
    }
    c.normalize().toArray(normals, 3 * k);
    a.fromArray(vertices, 3 * faces[k]).toArray(positions, 3 * k);
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setAttribute("normal", new BufferAttribute(normals, 3));
  return geometry;
}

function mergeByPosition(vertices: Float32Array): { ids: Uint32Array; count: number } {
  const ids = new Uint32Array(vertices.length / 3);
  const seen = new Map<string, number>();
  for (let i = 0; i < ids.length; i++) {
    const key = `${vertices[3 * i]},${vertices[3 * i + 1]},${vertices[3 * i + 2]}`;
    let id = seen.get(key);
    if (id === undefined) {
      id = seen.size;
      seen.set(key, id);
    }
    ids[i] = id;
  }
  return { ids, count: seen.size };
}

/** Directions that are the same for all corners at one place, for outlines without gaps. */
export function outlineDirections(geometry: BufferGeometry): BufferAttribute {
  const positions = geometry.getAttribute("position").array as Float32Array;
  const normals = geometry.getAttribute("normal").array as Float32Array;
  const { ids, count } = mergeByPosition(positions);
  const sums = new Float32Array(count * 3);
  for (let i = 0; i < ids.length; i++) {
    for (let k = 0; k < 3; k++) sums[3 * ids[i] + k] += normals[3 * i + k];
  }
  const directions = new Float32Array(positions.length);
  for (let i = 0; i < ids.length; i++) {
    for (let k = 0; k < 3; k++) directions[3 * i + k] = sums[3 * ids[i] + k];
  }
  return new BufferAttribute(directions, 3);
}

/** The surface with smooth normals, four walls and a floor. */
function heightFieldGeometry(field: HeightField): BufferGeometry {
  const { rows, columns } = field;
  const [radiusX, radiusY, elevation, base] = field.size;
  const values = decodeFloats(field.values);
  if (!(rows > 1 && columns > 1) || values.length !== rows * columns) {
    throw new ProtocolError(`a height field of ${rows} × ${columns} has ${values.length} values`);
  }
  const x = (c: number) => radiusX * ((2 * c) / (columns - 1) - 1);
  const y = (r: number) => radiusY * ((2 * r) / (rows - 1) - 1);
  const z = (r: number, c: number) => values[r * columns + c] * elevation;
  const positions: number[] = [];
  const normals: number[] = [];
  const indices: number[] = [];
  const normal = new Vector3();
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const [c0, c1] = [Math.max(0, c - 1), Math.min(columns - 1, c + 1)];
      const [r0, r1] = [Math.max(0, r - 1), Math.min(rows - 1, r + 1)];
      normal.set((z(r, c0) - z(r, c1)) / (x(c1) - x(c0)), (z(r0, c) - z(r1, c)) / (y(r1) - y(r0)), 1).normalize();
      positions.push(x(c), y(r), z(r, c));
      normals.push(normal.x, normal.y, normal.z);
    }
  }
  for (let r = 0; r + 1 < rows; r++) {
    for (let c = 0; c + 1 < columns; c++) {
      const at = r * columns + c;
      indices.push(at, at + 1, at + columns + 1, at, at + columns + 1, at + columns);
    }
  }
  const wall = (r0: number, c0: number, r1: number, c1: number, nx: number, ny: number) => {
    const at = positions.length / 3;
    positions.push(x(c0), y(r0), -base, x(c1), y(r1), -base, x(c1), y(r1), z(r1, c1), x(c0), y(r0), z(r0, c0));
    for (let k = 0; k < 4; k++) normals.push(nx, ny, 0);
    indices.push(at, at + 1, at + 2, at, at + 2, at + 3);
  };
  for (let c = 0; c + 1 < columns; c++) {
    wall(0, c, 0, c + 1, 0, -1);
    wall(rows - 1, c + 1, rows - 1, c, 0, 1);
  }
  for (let r = 0; r + 1 < rows; r++) {
    wall(r + 1, 0, r, 0, -1, 0);
    wall(r, columns - 1, r + 1, columns - 1, 1, 0);
  }
  const at = positions.length / 3;
  positions.push(-radiusX, -radiusY, -base, radiusX, -radiusY, -base, radiusX, radiusY, -base, -radiusX, radiusY, -base);
  for (let k = 0; k < 4; k++) normals.push(0, 0, -1);
  indices.push(at, at + 2, at + 1, at, at + 3, at + 2);
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(positions), 3));
  geometry.setAttribute("normal", new BufferAttribute(new Float32Array(normals), 3));
  geometry.setIndex(indices);
  return geometry;
}
