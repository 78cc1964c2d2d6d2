/** Planes: a soft checker with fine lines; infinite ones fade into the distance. */
import { Color, DoubleSide, type IUniform, Matrix4, Mesh, MeshStandardMaterial, PlaneGeometry, CircleGeometry, Quaternion, Vector2, Vector3 } from "three";
import { fromRgba, groundTones, isUncoloured, type Palette } from "./colours";
import type { Shape } from "./protocol";

const VERTEX = `
vPlane = position.xy * uScale + uOffset;
vDisc = position.xy;
`;

/** Squares and lines are faded where a pixel covers much of one, so that the distance is calm. */
const FRAGMENT = `
vec2 cell = vPlane / uCell;
vec2 width = fwidth(cell);
float blur = clamp(max(width.x, width.y) * 1.6, 0.0, 1.0);
vec2 tri = abs(fract(cell * 0.5) - 0.5) * 4.0 - 1.0;
vec2 soft = clamp(tri / max(width * 2.0, 1e-4), -1.0, 1.0);
float check = mix(0.5 + 0.5 * soft.x * soft.y, 0.5, blur);
vec3 tone = mix(uToneA, uToneB, check);
vec2 fine = abs(fract(cell * uFine - 0.5) - 0.5) / max(fwidth(cell * uFine), 1e-5);
float line = 1.0 - clamp(min(fine.x, fine.y), 0.0, 1.0);
float fineBlur = 1.0 - smoothstep(0.04, 0.22, max(width.x, width.y) * uFine);
tone = mix(tone, uLine, line * 0.5 * fineBlur);
vec2 coarse = abs(fract(cell - 0.5) - 0.5) / max(width, 1e-5);
float edge = 1.0 - clamp(min(coarse.x, coarse.y) - 0.15, 0.0, 1.0);
tone = mix(tone, uLine, edge * 0.75 * (1.0 - smoothstep(0.1, 0.5, max(width.x, width.y))));
diffuseColor.rgb = tone;
diffuseColor.a *= uInfinite > 0.5 ? 1.0 - smoothstep(0.22, 1.0, length(vDisc)) : 1.0;
if (!gl_FrontFacing) diffuseColor.a *= 0.3;
`;

interface Uniforms {
  uCell: IUniform<number>;
  uFine: IUniform<number>;
  uScale: IUniform<Vector2>;
  uOffset: IUniform<Vector2>;
  uInfinite: IUniform<number>;
  uToneA: IUniform<Color>;
  uToneB: IUniform<Color>;
  uLine: IUniform<Color>;
}

/** The side of squares that suits a scene: a power of ten, or half of one. */
export function cellSize(extent: number): number {
  const power = 10 ** Math.floor(Math.log10(extent));
  const lead = extent / power;
  return (lead < 2.2 ? 0.5 : lead < 5 ? 1 : 2) * power;
}

export class Ground {
  readonly mesh: Mesh;
  private readonly material: MeshStandardMaterial;
  private readonly uniforms: Uniforms;
  private readonly infinite: boolean;
  private readonly local = new Matrix4();
  private readonly world = new Matrix4();
  private readonly inverse = new Matrix4();
  private readonly point = new Vector3();
  private readonly scale = new Vector3();
  private readonly unturned = new Quaternion();

  constructor(
    readonly shape: Shape,
    readonly index: number,
    private readonly extent: number,
    palette: Palette,
  ) {
    this.infinite = !(shape.size[0] > 0 && shape.size[1] > 0);
    this.local.compose(
      new Vector3().fromArray(shape.pos),
      new Quaternion(shape.quat[1], shape.quat[2], shape.quat[3], shape.quat[0]),
      new Vector3(1, 1, 1),
    );
    this.uniforms = {
      uCell: { value: cellSize(extent) },
      uFine: { value: 5 },
      uScale: { value: new Vector2(shape.size[0], shape.size[1]) },
      uOffset: { value: new Vector2() },
      uInfinite: { value: this.infinite ? 1 : 0 },
      uToneA: { value: new Color() },
      uToneB: { value: new Color() },
      uLine: { value: new Color() },
    };
    this.material = new MeshStandardMaterial({
      roughness: 0.92,
      metalness: 0,
      transparent: true,
      opacity: shape.rgba[3],
      side: DoubleSide,
      // A ground gives way to what lies on it; a finite plane often covers the top of a box, and wins.
      polygonOffset: true,
      polygonOffsetFactor: this.infinite ? 1 : -1,
      polygonOffsetUnits: this.infinite ? 1 : -1,
    });
    this.material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.uniforms);
      const varyings = "varying vec2 vPlane; varying vec2 vDisc;";
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", `#include <common>\n${varyings} uniform vec2 uScale; uniform vec2 uOffset;`)
        .replace("#include <begin_vertex>", `#include <begin_vertex>\n${VERTEX}`);
      shader.fragmentShader = shader.fragmentShader
        .replace(
          "#include <common>",
          `#include <common>\n${varyings} uniform float uCell, uFine, uInfinite; uniform vec3 uToneA, uToneB, uLine;`,
        )
        .replace("#include <map_fragment>", FRAGMENT);
    };
    this.mesh = new Mesh(this.infinite ? new CircleGeometry(1, 96) : new PlaneGeometry(2, 2), this.material);
    this.mesh.name = `plane ${index}`;
    this.mesh.receiveShadow = true;
    this.mesh.matrixAutoUpdate = false;
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = -1;
    this.paint(palette);
  }

  paint(palette: Palette): void {
    const { uToneA, uToneB, uLine } = this.uniforms;
    const isFloor = this.infinite || Math.max(this.shape.size[0], this.shape.size[1]) > 0.8 * this.extent;
    if (isFloor || isUncoloured(this.shape.rgba)) {
      groundTones(this.shape.rgba, palette, [uToneA.value, uToneB.value, uLine.value]);
      return;
    }
    // A small plane is a thing like others, in its own colour.
    fromRgba(this.shape.rgba, uToneA.value);
    uToneB.value.copy(uToneA.value).multiplyScalar(0.92);
    uLine.value.copy(uToneA.value).multiplyScalar(0.72);
  }

  /** Puts the plane where its body is; an infinite one is a disc under what the camera looks at, `reach` metres wide. */
  place(body: Matrix4, focus: Vector3, reach: number): void {
    this.world.multiplyMatrices(body, this.local);
    const { uScale, uOffset } = this.uniforms;
    if (this.infinite) {
      const radius = Math.max(reach, this.extent) * 6;
      this.point.copy(focus).applyMatrix4(this.inverse.copy(this.world).invert());
      this.point.z = 0;
      uScale.value.set(radius, radius);
      uOffset.value.set(this.point.x, this.point.y);
    } else {
      this.point.set(0, 0, 0);
    }
    this.scale.set(uScale.value.x, uScale.value.y, 1);
    this.inverse.compose(this.point, this.unturned, this.scale);
    this.mesh.matrix.multiplyMatrices(this.world, this.inverse);
    this.mesh.matrixWorldNeedsUpdate = true;
  }

  setWireframe(on: boolean): void {
    this.material.wireframe = on && !this.infinite;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.material.dispose();
  }
}
