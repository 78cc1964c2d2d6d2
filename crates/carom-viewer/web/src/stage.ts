/** Renderer, sky and light: everything around the model. */
import {
  BackSide,
  BufferAttribute,
  BufferGeometry,
  Color,
  DirectionalLight,
  HemisphereLight,
  Mesh,
  MeshBasicMaterial,
  NeutralToneMapping,
  PCFShadowMap,
  type PerspectiveCamera,
  PMREMGenerator,
  Scene as Space,
  ShaderMaterial,
  SphereGeometry,
  SRGBColorSpace,
  Vector3,
  WebGLRenderer,
  BoxGeometry,
} from "three";
import type { Palette } from "./colours";

const SHADOW_PIXELS = 2048;
const SHADOW_PIXELS_SIMPLE = 1024;
/** What takes the place of reflections when there are none. */
const FILL_SIMPLE = 1.25;
const SLOW_FRAME = 0.034;

export class Stage {
  readonly space = new Space();
  readonly renderer: WebGLRenderer;
  private readonly key = new DirectionalLight("#fff6e8", 2.3);
  private readonly fill = new HemisphereLight("#eaf2ff", "#8f8578", 0.5);
  private readonly sky: ShaderMaterial;
  private readonly toLight = new Vector3(0.45, -0.55, 1.25).normalize();
  private pixelRatio = Math.min(window.devicePixelRatio, 2);
  private slowFrames = 0;
  private readonly shadowPixels: number;

  /** `simple` leaves out what processors without graphics cannot draw quickly. */
  constructor(
    canvas: HTMLCanvasElement,
    private readonly simple: boolean,
  ) {
    this.renderer = new WebGLRenderer({ canvas, antialias: !simple, powerPreference: "high-performance" });
    if (simple) this.pixelRatio = 0.75;
    this.shadowPixels = simple ? SHADOW_PIXELS_SIMPLE : SHADOW_PIXELS;
    this.renderer.outputColorSpace = SRGBColorSpace;
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.setPixelRatio(this.pixelRatio);
    this.key.castShadow = true;
    this.key.shadow.mapSize.set(this.shadowPixels, this.shadowPixels);
    this.key.shadow.radius = 3.2;
    this.fill.position.set(0, 0, 1);
    this.space.add(this.key, this.key.target, this.fill);
    this.sky = skyMaterial();
    const backdrop = new Mesh(fullScreenTriangle(), this.sky);
    backdrop.frustumCulled = false;
    backdrop.renderOrder = -100;
    this.space.add(backdrop);
    if (!simple) this.space.environment = this.environment();
  }

  private environment() {
    const generator = new PMREMGenerator(this.renderer);
    const studio = studioSpace();
    const { texture } = generator.fromScene(studio, 0.04, 0.1, 100, { size: 64 });
    generator.dispose();
    return texture;
  }

  paint(palette: Palette): void {
    (this.sky.uniforms.uTop.value as Color).copy(palette.skyTop);
    (this.sky.uniforms.uHorizon.value as Color).copy(palette.skyHorizon);
    this.key.intensity = palette.keyLight;
    this.fill.intensity = palette.fillLight + (this.simple ? FILL_SIMPLE * palette.environment * Math.PI : 0);
    this.space.environmentIntensity = palette.environment;
  }

  /** Shadows cover a ball around what is looked at. */
  focusShadow(focus: Vector3, radius: number): void {
    const camera = this.key.shadow.camera;
    if (Math.abs(camera.right - radius) > 0.02 * radius) {
      camera.left = camera.bottom = -radius;
      camera.right = camera.top = radius;
      camera.near = 0.1 * radius;
      camera.far = 9 * radius;
      camera.updateProjectionMatrix();
      const texel = (2 * radius) / this.shadowPixels;
      this.key.shadow.normalBias = 1.6 * texel;
      this.key.shadow.bias = -0.0003;
    }
    // Whole texels only, or edges of shadows crawl while the camera moves.
    const step = (2 * camera.right) / this.shadowPixels;
    const target = this.key.target.position;
    target.set(Math.round(focus.x / step) * step, Math.round(focus.y / step) * step, Math.round(focus.z / step) * step);
    this.key.position.copy(target).addScaledVector(this.toLight, 4.5 * camera.right);
    this.key.target.updateMatrixWorld();
  }

  resize(width: number, height: number): void {
    this.renderer.setSize(width, height, false);
  }

  render(camera: PerspectiveCamera): void {
    this.renderer.render(this.space, camera);
  }

  /** On screens with many pixels, fewer are drawn when the machine cannot keep up. */
  adapt(elapsed: number): boolean {
    if (this.pixelRatio <= 1) return false;
    this.slowFrames = elapsed > SLOW_FRAME && elapsed < 0.5 ? this.slowFrames + 1 : Math.max(0, this.slowFrames - 1);
    if (this.slowFrames < 40) return false;
    this.slowFrames = 0;
    this.pixelRatio = Math.max(1, this.pixelRatio - 0.5);
    this.renderer.setPixelRatio(this.pixelRatio);
    return true;
  }
}

/** Is WebGL drawn by the processor? `#quality=full` and `#quality=simple` decide otherwise. */
export function drawsSlowly(hash: string): boolean {
  const wish = /quality=(full|simple)/.exec(hash)?.[1];
  if (wish) return wish === "simple";
  const context = document.createElement("canvas").getContext("webgl2");
  const info = context?.getExtension("WEBGL_debug_renderer_info");
  const name = context && info ? String(context.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

function fullScreenTriangle(): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3));
  return geometry;
}

/** From horizon to zenith by the direction of view, with a little noise against bands. */
function skyMaterial(): ShaderMaterial {
  return new ShaderMaterial({
    depthTest: false,
    depthWrite: false,
    toneMapped: false,
    uniforms: { uTop: { value: new Color() }, uHorizon: { value: new Color() } },
    vertexShader: `
      varying vec3 vDirection;
      void main() {
        gl_Position = vec4(position.xy, 1.0, 1.0);
        vec4 view = inverse(projectionMatrix) * vec4(position.xy, 1.0, 1.0);
        vDirection = transpose(mat3(viewMatrix)) * (view.xyz / view.w);
      }`,
    fragmentShader: `
      varying vec3 vDirection;
      uniform vec3 uTop;
      uniform vec3 uHorizon;
      void main() {
        float height = normalize(vDirection).z;
        vec3 colour = mix(uHorizon, uTop, smoothstep(0.0, 0.7, height));
        gl_FragColor = linearToOutputTexel(vec4(colour, 1.0));
        float noise = fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453);
        gl_FragColor.rgb += (noise - 0.5) / 255.0;
      }`,
  });
}

/** A room of soft boxes that surfaces reflect. */
function studioSpace(): Space {
  const studio = new Space();
  const room = new Mesh(new SphereGeometry(20, 32, 16), new MeshBasicMaterial({ color: new Color(0.62, 0.66, 0.72), side: BackSide }));
  const floor = new Mesh(new BoxGeometry(40, 40, 0.2), new MeshBasicMaterial({ color: new Color(0.5, 0.48, 0.45) }));
  floor.position.z = -6;
  studio.add(room, floor);
  const lamp = (x: number, y: number, z: number, sx: number, sy: number, sz: number, power: number) => {
    const mesh = new Mesh(new BoxGeometry(sx, sy, sz), new MeshBasicMaterial({ color: new Color(power, power, power) }));
    mesh.position.set(x, y, z);
    studio.add(mesh);
  };
  lamp(0, 0, 12, 12, 12, 0.2, 4.5);
  lamp(12, -6, 4, 0.2, 7, 7, 5);
  lamp(-13, 3, 3, 0.2, 9, 5, 2.5);
  lamp(2, 13, 4, 9, 0.2, 5, 2);
  return studio;
}
