/** The 3-D view: stage, camera, model, ghost and decorations; picking and dragging. */
import { Plane, Raycaster, Sphere, Vector2, Vector3 } from "three";
import { OrbitCamera } from "./camera";
import { DARK, LIGHT, type Palette } from "./colours";
import { Decorations, type Drag } from "./decorations";
import { Highlight } from "./highlight";
import { landing } from "./landing";
import { Frame, type Scene } from "./protocol";
import type { Recording } from "./recording";
import { ballAround, SceneView } from "./scene";
import type { Shown } from "./session";
import type { Settings } from "./settings";
import { drawsSlowly, Stage } from "./stage";

export interface ViewerEvents {
  wake(): void;
  picked(body: number): void;
  /** May bodies be dragged now, and does this press do so? */
  dragStarts(event: PointerEvent): boolean;
  dragged(drag: Drag | null): void;
}

const CLICK_PIXELS = 5;
const CLICK_MILLISECONDS = 450;
const FIT_SAMPLES = 24;
/** A first view is at most so many times as wide as the model: a twentieth of its height is still seen. */
const MOST_WIDTHS = 20;
/** What a live run may need around its start, as a share of the model's extent. */
const FIT_LIVE = 0.35;

export class Viewer {
  readonly stage: Stage;
  readonly orbit: OrbitCamera;
  model: SceneView | null = null;
  selected = -1;
  /** Keep the selected body in place while it moves. */
  following = false;
  private ghost: SceneView | null = null;
  private decorations: Decorations | null = null;
  private readonly highlight: Highlight;
  private palette: Palette = LIGHT;
  private drag: Drag | null = null;
  private dragPointer = -1;
  private readonly dragPlane = new Plane();
  private press = { x: 0, y: 0, time: 0 };
  private fitted = false;
  private width = 1;
  private height = 1;
  private readonly raycaster = new Raycaster();
  private readonly pointer = new Vector2();
  private readonly lastFollowed = new Vector3();
  private readonly delta = new Vector3();
  private readonly normal = new Vector3();
  private readonly ball = new Sphere();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly settings: Settings,
    private readonly events: ViewerEvents,
    reducedMotion: () => boolean,
  ) {
    this.stage = new Stage(canvas, drawsSlowly(window.location.hash));
    this.highlight = new Highlight(this.stage.space);
    this.orbit = new OrbitCamera(canvas, reducedMotion, () => events.wake(), (event) => this.claim(event));
    canvas.addEventListener("pointermove", (event) => this.dragMove(event));
    for (const kind of ["pointerup", "pointercancel"] as const) canvas.addEventListener(kind, (event) => this.lift(event, kind));
    canvas.addEventListener("dblclick", (event) => this.focusAt(event));
  }

  load(scene: Scene): void {
    this.unload();
    this.model = new SceneView(scene, this.palette, false);
    this.model.root.visible = false; // Until a frame says where things are.
    this.stage.space.add(this.model.root);
    this.decorations = new Decorations(scene, this.model, this.model.root);
    this.orbit.setExtent(scene.extent);
    this.applySettings();
  }

  private unload(): void {
    this.select(-1);
    this.highlight.clear();
    this.decorations?.dispose();
    this.model?.dispose();
    this.removeGhost();
    this.model = this.decorations = null;
    this.fitted = false;
    this.following = false;
    this.drag = null;
  }

  removeGhost(): void {
    this.ghost?.dispose();
    this.ghost = null;
  }

  setDark(dark: boolean): void {
    this.palette = dark ? DARK : LIGHT;
    this.stage.paint(this.palette);
    this.model?.paint(this.palette);
    this.ghost?.paint(this.palette);
    if (this.model) this.highlight.select(this.model, this.selected, this.palette);
  }

  applySettings(): void {
    this.model?.setOptions(this.settings);
    this.ghost?.setOptions(this.settings);
    if (this.ghost) this.ghost.root.visible = this.settings.ghost;
  }

  select(body: number): void {
    if (body !== this.selected) this.following = false;
    this.selected = body;
    this.model?.select(body);
    if (this.model) this.highlight.select(this.model, body, this.palette);
  }

  follow(on: boolean): void {
    this.following = on && this.selected > 0;
    if (this.following && this.model) {
      this.lastFollowed.setFromMatrixPosition(this.model.bodies[this.selected].matrixWorld);
      this.orbit.lookAt(this.lastFollowed);
    }
  }

  /** Shows the moment that `run` (and `ghost`) stand at; returns how many bodies have no finite pose then. */
  show(run: Shown, ghost: Shown): number {
    const { model } = this;
    if (!model || !run.ready) return 0;
    model.root.visible = true;
    const lost = model.place(run.frame, run.next, run.fraction);
    if (ghost.ready) {
      if (!this.ghost) {
        this.ghost = new SceneView(model.scene, this.palette, true);
        this.stage.space.add(this.ghost.root);
        this.applySettings();
      }
      this.ghost.place(ghost.frame, ghost.next, ghost.fraction);
    } else if (this.ghost) {
      this.removeGhost();
    }
    this.decorations?.update(run.frame, run.next, run.fraction, model, this.settings, this.palette, this.drag);
    if (this.following && this.selected > 0) {
      this.delta.setFromMatrixPosition(model.bodies[this.selected].matrixWorld).sub(this.lastFollowed);
      this.lastFollowed.add(this.delta);
      this.orbit.accompany(this.delta);
    }
    if (!this.fitted) {
      this.fitted = true;
      this.fitStart(model);
    }
    return lost;
  }

  /** Everything into view. */
  fit(): void {
    const balls: number[] = [];
    this.model?.collectBalls(balls);
    this.orbit.fit(this.ballOr(balls), true);
  }

  /** The first view: everything, the way that free bodies fall, and at least a part of the model's extent. */
  private fitStart(model: SceneView): void {
    const balls: number[] = [];
    model.collectBalls(balls);
    const fallen = landing(model);
    if (fallen) balls.push(...fallen.center.toArray(), fallen.radius);
    const ball = this.ballOr(balls);
    ball.radius = Math.max(ball.radius, FIT_LIVE * model.scene.extent);
    this.orbit.fit(ball, true, true);
  }

  /** Fits what recordings show over all their time; of motions so wide that the model would be lost in them, how they begin. */
  fitOver(recordings: Recording[]): void {
    const { model } = this;
    if (!model) return;
    const balls: number[] = [];
    model.collectBalls(balls);
    const shown = this.ballOr(balls).clone();
    const widest = MOST_WIDTHS * shown.radius;
    const frame = new Frame();
    for (let k = 1; k <= FIT_SAMPLES; k++) {
      for (const recording of recordings) {
        recording.read(Math.round(((recording.count - 1) * k) / FIT_SAMPLES), frame);
        model.place(frame, null, 0);
        model.collectBalls(balls);
      }
      const ball = this.ballOr(balls);
      if (ball.radius > widest) break;
      shown.copy(ball);
    }
    this.orbit.fit(shown, true, true);
  }

  /** The ball around balls, or the one that the scene names when there are none. */
  private ballOr(balls: number[]): Sphere {
    if (balls.length > 0) return ballAround(balls, this.ball);
    const scene = this.model?.scene;
    return this.ball.set(new Vector3().fromArray(scene?.center ?? [0, 0, 0]), 0.5 * (scene?.extent ?? 1));
  }

  resize(width: number, height: number, coveredRight: number, coveredBottom: number): void {
    this.width = width;
    this.height = height;
    this.stage.resize(width, height);
    this.orbit.resize(width, height);
    // The model stands in the middle of what panels leave free.
    this.orbit.camera.setViewOffset(width, height, coveredRight / 2, coveredBottom / 2, width, height);
  }

  /** Draws; true while the camera is still moving. */
  render(elapsed: number): boolean {
    const moving = this.orbit.update(elapsed);
    const { target, distance } = this.orbit;
    const extent = this.model?.scene.extent ?? 1;
    for (const ground of this.model?.grounds ?? []) {
      ground.place(this.model!.bodies[ground.shape.body].matrixWorld, target, distance);
    }
    this.stage.focusShadow(target, Math.min(3 * extent, Math.max(0.15 * extent, 0.75 * distance)));
    this.highlight.update();
    this.stage.render(this.orbit.camera);
    if (this.stage.adapt(elapsed)) this.stage.resize(this.width, this.height);
    return moving;
  }

  /** The body under a place of the window and the point that was hit; the world is body 0, nothing -1. */
  pick(x: number, y: number): { body: number; point: Vector3 } {
    const nothing = { body: -1, point: new Vector3() };
    if (!this.model) return nothing;
    const box = this.canvas.getBoundingClientRect();
    this.pointer.set(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2);
    this.raycaster.setFromCamera(this.pointer, this.orbit.camera);
    let nearest = Infinity;
    let found = nothing;
    for (const batch of this.model.batches) {
      if (!batch.mesh.visible || batch.isSite) continue;
      for (const hit of this.raycaster.intersectObject(batch.mesh, false)) {
        if (hit.distance >= nearest || hit.instanceId === undefined) continue;
        nearest = hit.distance;
        found = { body: batch.bodies[hit.instanceId], point: hit.point.clone() };
      }
    }
    for (const ground of this.model.grounds) {
      if (!ground.mesh.visible) continue;
      for (const hit of this.raycaster.intersectObject(ground.mesh, false)) {
        if (hit.distance < nearest) {
          nearest = hit.distance;
          found = { body: ground.shape.body, point: hit.point.clone() };
        }
      }
    }
    return found;
  }

  private claim(event: PointerEvent): boolean {
    this.press = { x: event.clientX, y: event.clientY, time: event.timeStamp };
    if (!this.model || event.button !== 0 || !this.events.dragStarts(event)) return false;
    const { body, point } = this.pick(event.clientX, event.clientY);
    if (body <= 0) return false;
    this.canvas.setPointerCapture(event.pointerId);
    this.dragPointer = event.pointerId;
    this.orbit.camera.getWorldDirection(this.normal);
    this.dragPlane.setFromNormalAndCoplanarPoint(this.normal, point);
    const local = this.model.bodies[body].worldToLocal(point.clone());
    this.drag = { body, point: local, target: point.clone() };
    this.events.picked(body);
    this.events.dragged(this.drag);
    this.events.wake();
    return true;
  }

  private dragMove(event: PointerEvent): void {
    if (!this.drag || event.pointerId !== this.dragPointer) return;
    const box = this.canvas.getBoundingClientRect();
    this.pointer.set(((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2);
    this.raycaster.setFromCamera(this.pointer, this.orbit.camera);
    if (this.raycaster.ray.intersectPlane(this.dragPlane, this.drag.target)) {
      this.events.dragged(this.drag);
      this.events.wake();
    }
  }

  private lift(event: PointerEvent, kind: string): void {
    if (this.drag && event.pointerId === this.dragPointer) {
      this.drag = null;
      this.events.dragged(null);
      this.events.wake();
      return;
    }
    const moved = Math.hypot(event.clientX - this.press.x, event.clientY - this.press.y);
    const quick = event.timeStamp - this.press.time < CLICK_MILLISECONDS;
    if (kind === "pointerup" && event.button === 0 && moved < CLICK_PIXELS && quick && !this.orbit.dragging) {
      this.events.picked(this.pick(event.clientX, event.clientY).body);
    }
  }

  private focusAt(event: MouseEvent): void {
    const { body, point } = this.pick(event.clientX, event.clientY);
    if (body >= 0) this.orbit.lookAt(point);
  }

  /** A picture of what is shown now. */
  screenshot(done: (picture: Blob | null) => void): void {
    this.stage.render(this.orbit.camera);
    this.canvas.toBlob(done, "image/png");
  }
}
