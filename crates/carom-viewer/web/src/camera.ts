/** A camera that orbits a target, z up: drag to turn, right or Shift+drag to move, wheel or pinch to come closer. */
import { MathUtils, PerspectiveCamera, type Sphere, Vector3 } from "three";

const FIELD_OF_VIEW = 38;
const START_AZIMUTH = MathUtils.degToRad(-58);
const START_ELEVATION = MathUtils.degToRad(17);
const STEEPEST = MathUtils.degToRad(89);
/** Seconds in which a movement comes to rest. */
const SETTLE = 0.09;
const SETTLE_FLIGHT = 0.16;

interface Pointer {
  x: number;
  y: number;
  pan: boolean;
}

export class OrbitCamera {
  readonly camera = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 100);
  readonly target = new Vector3();
  distance = 3;
  private azimuth = START_AZIMUTH;
  private elevation = START_ELEVATION;
  private readonly goalTarget = new Vector3();
  private goalDistance = 3;
  private goalAzimuth = START_AZIMUTH;
  private goalElevation = START_ELEVATION;
  private settle = SETTLE;
  private readonly pointers = new Map<number, Pointer>();
  private readonly right = new Vector3();
  private readonly up = new Vector3();
  private readonly shift = new Vector3();
  private extent = 1;
  private viewHeight = 1;

  constructor(
    private readonly element: HTMLElement,
    private readonly reducedMotion: () => boolean,
    private readonly changed: () => void,
    /** May take a press for itself (to drag a body), then the camera leaves it alone. */
    private readonly claims: (event: PointerEvent) => boolean,
  ) {
    this.camera.up.set(0, 0, 1);
    element.addEventListener("pointerdown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    element.addEventListener("pointerup", (event) => this.lift(event));
    element.addEventListener("pointercancel", (event) => this.lift(event));
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    element.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  get dragging(): boolean {
    return this.pointers.size > 0;
  }

  setExtent(extent: number): void {
    this.extent = extent;
  }

  resize(width: number, height: number): void {
    this.viewHeight = height;
    this.camera.aspect = width / Math.max(1, height);
    this.camera.updateProjectionMatrix();
  }

  /** Looks at a ball so that it fills the view; `turn` also goes back to the first direction. */
  fit(ball: Sphere, turn: boolean, atOnce = false): void {
    const radius = Math.max(ball.radius, 0.02 * this.extent);
    const half = MathUtils.degToRad(FIELD_OF_VIEW / 2);
    const across = Math.atan(Math.tan(half) * Math.min(1, this.camera.aspect));
    this.goalTarget.copy(ball.center);
    this.goalDistance = (1.12 * radius) / Math.sin(across);
    if (turn) {
      this.goalAzimuth = nearestTurn(START_AZIMUTH, this.azimuth);
      this.goalElevation = START_ELEVATION;
    }
    this.settle = SETTLE_FLIGHT;
    if (atOnce || this.reducedMotion()) this.finish();
    this.changed();
  }

  lookAt(point: Vector3): void {
    this.goalTarget.copy(point);
    this.settle = SETTLE_FLIGHT;
    if (this.reducedMotion()) this.finish();
    this.changed();
  }

  /** Goes along with something that moved by `delta`. */
  accompany(delta: Vector3): void {
    this.target.add(delta);
    this.goalTarget.add(delta);
  }

  /** Turns by the keyboard. */
  turn(azimuth: number, elevation: number): void {
    this.goalAzimuth += azimuth;
    this.goalElevation = MathUtils.clamp(this.goalElevation + elevation, -STEEPEST, STEEPEST);
    this.changed();
  }

  zoom(factor: number): void {
    this.goalDistance = MathUtils.clamp(this.goalDistance * factor, 1e-3 * this.extent, 200 * this.extent);
    this.changed();
  }

  /** Moves towards the goals; true while there is way to go. */
  update(elapsed: number): boolean {
    const share = 1 - Math.exp(-elapsed / this.settle);
    this.target.lerp(this.goalTarget, share);
    this.distance += (this.goalDistance - this.distance) * share;
    this.azimuth += (this.goalAzimuth - this.azimuth) * share;
    this.elevation += (this.goalElevation - this.elevation) * share;
    const rest =
      this.target.distanceTo(this.goalTarget) / this.distance +
      Math.abs(this.goalDistance / this.distance - 1) +
      Math.abs(this.goalAzimuth - this.azimuth) +
      Math.abs(this.goalElevation - this.elevation);
    if (rest < 2e-4) this.finish();
    this.apply();
    return rest >= 2e-4;
  }

  private finish(): void {
    this.target.copy(this.goalTarget);
    this.distance = this.goalDistance;
    this.azimuth = this.goalAzimuth;
    this.elevation = this.goalElevation;
    this.settle = SETTLE;
  }

  private apply(): void {
    const flat = Math.cos(this.elevation);
    this.camera.position.set(
      this.target.x + this.distance * flat * Math.cos(this.azimuth),
      this.target.y + this.distance * flat * Math.sin(this.azimuth),
      this.target.z + this.distance * Math.sin(this.elevation),
    );
    this.camera.lookAt(this.target);
    const near = Math.max(0.02 * this.distance, 1e-4 * this.extent);
    const far = this.distance * 30 + this.extent * 30;
    if (Math.abs(near / this.camera.near - 1) > 0.01 || Math.abs(far / this.camera.far - 1) > 0.01) {
      this.camera.near = near;
      this.camera.far = far;
      this.camera.updateProjectionMatrix();
    }
    this.camera.updateMatrixWorld();
  }

  private press(event: PointerEvent): void {
    if (this.pointers.size === 0 && this.claims(event)) return;
    this.element.setPointerCapture(event.pointerId);
    const pan = event.button === 1 || event.button === 2 || event.shiftKey;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, pan });
  }

  private lift(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
  }

  private move(event: PointerEvent): void {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) return;
    const dx = event.clientX - pointer.x;
    const dy = event.clientY - pointer.y;
    if (this.pointers.size >= 2) {
      const [first, second] = [...this.pointers.values()];
      const other = first === pointer ? second : first;
      const before = Math.hypot(pointer.x - other.x, pointer.y - other.y);
      const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
      if (before > 4 && after > 4) this.zoom(before / after);
      this.pan(dx / 2, dy / 2);
    } else if (pointer.pan) {
      this.pan(dx, dy);
    } else {
      this.turn(-dx * 0.0062, dy * 0.0062);
    }
    pointer.x = event.clientX;
    pointer.y = event.clientY;
    this.settle = SETTLE;
    this.changed();
  }

  private pan(dx: number, dy: number): void {
    const metresPerPixel = (2 * this.distance * Math.tan(MathUtils.degToRad(FIELD_OF_VIEW / 2))) / this.viewHeight;
    this.right.setFromMatrixColumn(this.camera.matrixWorld, 0);
    this.up.setFromMatrixColumn(this.camera.matrixWorld, 1);
    this.goalTarget.addScaledVector(this.right, -dx * metresPerPixel).addScaledVector(this.up, dy * metresPerPixel);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const factor = Math.exp(MathUtils.clamp(event.deltaY * lines, -240, 240) * 0.0016);
    // What is under the pointer stays there.
    const box = this.element.getBoundingClientRect();
    // The target is in the middle of what panels leave free, not of the whole view.
    const { offsetX, offsetY } = this.camera.view ?? { offsetX: 0, offsetY: 0 };
    const x = ((event.clientX - box.left + offsetX) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top + offsetY) / box.height) * 2;
    const reach = this.goalDistance * Math.tan(MathUtils.degToRad(FIELD_OF_VIEW / 2)) * (1 - factor);
    this.right.setFromMatrixColumn(this.camera.matrixWorld, 0);
    this.up.setFromMatrixColumn(this.camera.matrixWorld, 1);
    this.shift.copy(this.right).multiplyScalar(x * reach * this.camera.aspect).addScaledVector(this.up, y * reach);
    this.goalTarget.add(this.shift);
    this.settle = SETTLE;
    this.zoom(factor);
  }
}

/** The angle equal to `angle` that is nearest to `near`. */
function nearestTurn(angle: number, near: number): number {
  return angle + 2 * Math.PI * Math.round((near - angle) / (2 * Math.PI));
}
