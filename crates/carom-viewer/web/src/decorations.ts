/** What is drawn on top of the bodies: contacts, forces, centres of mass, axes, frames, tendons, gradients, the spring of a drag. */
import { BufferAttribute, Color, CylinderGeometry, type Group, Matrix4, Quaternion, SphereGeometry, Vector3 } from "three";
import { fromRgba, type Palette } from "./colours";
import { Arrows, Balls, Bars, Instances } from "./instances";
import { CONTACT, type Frame, type Scene, TENDON_POINT } from "./protocol";
import type { SceneView } from "./scene";

export interface DecorationOptions {
  contacts: boolean;
  forces: boolean;
  centres: boolean;
  joints: boolean;
  frames: boolean;
  tendons: boolean;
  gradients: boolean;
  arrowScale: number;
}

/** A body held by the mouse: a point in its frame and where the mouse wants it. */
export interface Drag {
  body: number;
  point: Vector3;
  target: Vector3;
}

const AXES = [new Color("#e5484d"), new Color("#3fa34d"), new Color("#3b7dff")];
const SPRING_TURNS = 9;
const SPRING_PIECES = 108;

export class Decorations {
  private readonly discs: Instances;
  private readonly forces: Arrows;
  private readonly axes: Arrows;
  private readonly gradients: Arrows;
  private readonly centres: Instances;
  private readonly cables: Bars;
  private readonly bends: Balls;
  private readonly spring: Bars;
  private readonly handles: Balls;
  private readonly tendonColours: Color[];
  /** A length that suits the model's parts (m). */
  private readonly unit: number;
  private readonly weight: number;
  /** The longest gradient so far: arrows are relative to it. */
  largestGradient = 0;

  private readonly a = new Vector3();
  private readonly b = new Vector3();
  private readonly c = new Vector3();
  private readonly side = new Vector3();
  private readonly other = new Vector3();
  private readonly turn = new Quaternion();
  private readonly matrix = new Matrix4();
  private readonly scale = new Vector3();

  constructor(
    private readonly scene: Scene,
    view: SceneView,
    parent: Group,
  ) {
    this.unit = typicalSize(view, scene.extent);
    const mass = scene.bodies.reduce((sum, body) => sum + (body.mass > 0 ? body.mass : 0), 0);
    this.weight = Math.max(1e-9, mass) * Math.max(0.1, Math.hypot(...scene.gravity.slice(0, 3)));
    this.discs = new Instances(new CylinderGeometry(1, 1, 0.3, 24).rotateX(Math.PI / 2), parent, false, false, 0.5);
    this.forces = new Arrows(parent);
    this.axes = new Arrows(parent);
    this.gradients = new Arrows(parent);
    this.centres = new Instances(quarteredBall(), parent, false, true, 0.75);
    this.cables = new Bars(parent, true);
    this.bends = new Balls(parent, true);
    this.spring = new Bars(parent);
    this.handles = new Balls(parent);
    this.tendonColours = scene.tendons.map((tendon) => fromRgba(tendon.rgba, new Color()));
  }

  update(frame: Frame, next: Frame | null, fraction: number, view: SceneView, options: DecorationOptions, palette: Palette, drag: Drag | null): void {
    this.drawContacts(frame, options, palette);
    this.drawCentres(view, options);
    this.drawAxes(view, options, palette);
    this.drawTendons(frame, next, fraction, options);
    this.drawGradients(frame, view, options, palette);
    this.drawSpring(view, palette, drag);
  }

  private drawContacts(frame: Frame, options: DecorationOptions, palette: Palette): void {
    const { discs, forces, a, b, c, unit } = this;
    discs.begin();
    forces.begin();
    for (let i = 0; i < frame.contacts; i++) {
      const at = frame.contactAt + CONTACT * i;
      a.fromArray(frame.floats, at);
      b.fromArray(frame.floats, at + 3);
      if (options.contacts && b.lengthSq() > 0) {
        this.turn.setFromUnitVectors(c.set(0, 0, 1), b.normalize());
        const radius = 0.16 * unit;
        discs.add(this.matrix.compose(a, this.turn, this.scale.set(radius, radius, radius)), palette.contact);
      }
      if (options.forces) {
        b.fromArray(frame.floats, at + 6);
        const size = b.length();
        if (size > 0 && Number.isFinite(size)) {
          // The model's weight is an arrow of a third of its extent; longer than twice the extent is no longer read.
          const length = Math.min(2 * this.scene.extent, (0.33 * this.scene.extent * size * options.arrowScale) / this.weight);
          forces.arrow(a, b.divideScalar(size), length, Math.min(0.05 * unit, 0.12 * length), palette.force);
        }
      }
    }
    discs.end();
    forces.end();
  }

  private drawCentres(view: SceneView, options: DecorationOptions): void {
    this.centres.begin();
    if (options.centres) {
      const white = this.white;
      this.scene.bodies.forEach((body, i) => {
        if (i === 0 || !(body.mass > 0)) return;
        this.a.fromArray(body.inertial_pos).applyMatrix4(view.bodies[i].matrixWorld);
        const radius = 0.2 * this.unit;
        this.centres.add(this.matrix.compose(this.a, view.bodies[i].quaternion, this.scale.set(radius, radius, radius)), white);
      });
    }
    this.centres.end();
  }

  private readonly white = new Color("#ffffff");

  private drawAxes(view: SceneView, options: DecorationOptions, palette: Palette): void {
    const { axes, a, b, unit } = this;
    axes.begin();
    if (options.joints) {
      for (const joint of this.scene.joints) {
        if (joint.kind === "free") continue;
        const body = view.bodies[joint.body];
        a.fromArray(joint.pos).applyMatrix4(body.matrixWorld);
        if (joint.kind === "ball") {
          for (let k = 0; k < 3; k++) {
            axes.arrow(a, b.setFromMatrixColumn(body.matrixWorld, k), 0.8 * unit, 0.045 * unit, palette.jointAxis);
          }
          continue;
        }
        b.fromArray(joint.axis).applyQuaternion(body.quaternion).normalize();
        const length = joint.kind === "hinge" ? 1.9 * unit : 2.6 * unit;
        axes.arrow(a.addScaledVector(b, -0.5 * length), b, length, 0.05 * unit, palette.jointAxis);
      }
    }
    if (options.frames) {
      for (let i = 0; i < view.bodies.length; i++) {
        const matrix = view.bodies[i].matrixWorld;
        a.setFromMatrixPosition(matrix);
        const size = i === 0 ? 1.6 : 1;
        for (let k = 0; k < 3; k++) axes.arrow(a, b.setFromMatrixColumn(matrix, k), size * unit, 0.04 * size * unit, AXES[k]);
      }
    }
    axes.end();
  }

  private drawTendons(frame: Frame, next: Frame | null, fraction: number, options: DecorationOptions): void {
    const { cables, bends, a, b } = this;
    cables.begin();
    bends.begin();
    if (options.tendons) {
      // Between frames points move along, as long as both frames have the same ones.
      const blend = next && fraction > 0 && next.tendonPoints === frame.tendonPoints ? fraction : 0;
      let previous = -1;
      for (let i = 0; i < frame.tendonPoints; i++) {
        const at = frame.tendonAt + TENDON_POINT * i;
        const tendon = frame.floats[at + 3];
        a.fromArray(frame.floats, at);
        if (blend > 0 && next) {
          b.fromArray(next.floats, next.tendonAt + TENDON_POINT * i);
          a.lerp(b, blend);
        }
        if (Number.isNaN(a.x)) {
          previous = -1;
          continue;
        }
        const colour = this.tendonColours[tendon] ?? AXES[0];
        const radius = Math.max(this.scene.tendons[tendon]?.width ?? 0, 0.0012 * this.scene.extent);
        if (previous === tendon) cables.bar(this.c, a, radius, colour);
        bends.ball(a, radius, colour);
        this.c.copy(a);
        previous = tendon;
      }
    }
    cables.end();
    bends.end();
  }

  private drawGradients(frame: Frame, view: SceneView, options: DecorationOptions, palette: Palette): void {
    const { gradients, a, b, unit } = this;
    gradients.begin();
    if (options.gradients && frame.hasGradient) {
      for (let i = 1; i < frame.bodies; i++) {
        b.fromArray(frame.floats, frame.gradientAt + 3 * i);
        const size = b.length();
        if (!(size > 0) || !Number.isFinite(size)) continue;
        this.largestGradient = Math.max(this.largestGradient, size);
        a.fromArray(this.scene.bodies[i].inertial_pos).applyMatrix4(view.bodies[i].matrixWorld);
        const length = Math.min(2 * this.scene.extent, (3.5 * unit * options.arrowScale * size) / this.largestGradient);
        gradients.arrow(a, b.divideScalar(size), length, Math.min(0.05 * unit, 0.12 * length), palette.gradient);
      }
    }
    gradients.end();
  }

  private drawSpring(view: SceneView, palette: Palette, drag: Drag | null): void {
    const { spring, handles, a, b, c, unit } = this;
    spring.begin();
    handles.begin();
    if (drag) {
      a.copy(drag.point).applyMatrix4(view.bodies[drag.body].matrixWorld);
      b.copy(drag.target);
      handles.ball(a, 0.11 * unit, palette.accent);
      handles.ball(b, 0.15 * unit, palette.accent);
      const length = a.distanceTo(b);
      c.subVectors(b, a).normalize();
      this.side.set(c.z, c.x, -c.y).cross(c).normalize();
      this.other.crossVectors(c, this.side);
      const start = this.scale.copy(a);
      const point = this.springPoint;
      for (let i = 1; i <= SPRING_PIECES; i++) {
        const share = i / SPRING_PIECES;
        const swell = Math.min(1, 8 * share, 8 * (1 - share)) * Math.min(0.13 * unit, 0.2 * length);
        const angle = 2 * Math.PI * SPRING_TURNS * share;
        point.copy(a).addScaledVector(c, share * length);
        point.addScaledVector(this.side, swell * Math.cos(angle)).addScaledVector(this.other, swell * Math.sin(angle));
        spring.bar(start, point, 0.022 * unit, palette.accent);
        start.copy(point);
      }
    }
    spring.end();
    handles.end();
  }

  private readonly springPoint = new Vector3();

  dispose(): void {
    for (const part of [this.discs, this.forces, this.axes, this.gradients, this.centres, this.cables, this.bends, this.spring, this.handles]) {
      part.dispose();
    }
  }
}

/** Half the typical size of the model's moving parts. */
function typicalSize(view: SceneView, extent: number): number {
  const sizes: number[] = [];
  const scale = new Vector3();
  for (const batch of view.batches) {
    if (batch.isSite || batch.fixed) continue;
    for (const local of batch.locals) {
      scale.setFromMatrixScale(local);
      sizes.push((batch.mesh.geometry.boundingSphere?.radius ?? 1) * Math.max(scale.x, scale.y, scale.z));
    }
  }
  sizes.sort((x, y) => x - y);
  const typical = sizes.length > 0 ? sizes[sizes.length >> 1] : 0.1 * extent;
  return Math.min(0.15 * extent, Math.max(0.025 * extent, typical));
}

/** The sign for a centre of mass: a ball in two colours by octants. */
function quarteredBall() {
  const ball = new SphereGeometry(1, 24, 16).toNonIndexed();
  const positions = ball.getAttribute("position");
  const colours = new Float32Array(positions.count * 3);
  for (let i = 0; i < positions.count; i += 3) {
    let [x, y, z] = [0, 0, 0];
    for (let k = i; k < i + 3; k++) {
      x += positions.getX(k);
      y += positions.getY(k);
      z += positions.getZ(k);
    }
    const tone = x * y * z > 0 ? [0.02, 0.02, 0.025] : [1, 0.78, 0.12];
    for (let k = i; k < i + 3; k++) colours.set(tone, 3 * k);
  }
  ball.setAttribute("color", new BufferAttribute(colours, 3));
  return ball;
}
