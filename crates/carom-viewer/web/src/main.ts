/** Puts the page together and runs its loop. */
import "./theme.css";
import { h } from "./dom";
import { listenToKeys, releaseFocusAfterMouse } from "./keys";
import { BodiesPanel } from "./panels/bodies";
import { DropZone } from "./panels/drop";
import { Tabs, Title, ToolBar } from "./panels/frame";
import { Banner, EmptyState, Help, Toast } from "./panels/messages";
import { PlotsPanel } from "./panels/plots";
import { SelectionCard } from "./panels/selection";
import { ControlsPanel, JointsPanel } from "./panels/sliders";
import { Transport } from "./panels/transport";
import { ViewPanel } from "./panels/view";
import type { Scene } from "./protocol";
import { Session } from "./session";
import { SettingsStore } from "./settings";
import { Viewer } from "./viewer";

/** Numbers in panels change this often at most (s). */
const PANEL_PERIOD = 1 / 20;
const SMALL_WIDTH = 760;
const SMALL_HEIGHT = 460;

class App {
  private readonly store = new SettingsStore();
  private readonly session: Session;
  private readonly viewer: Viewer;
  private readonly canvas = h("canvas", { class: "stage", "aria-label": "3-D view", tabindex: 0 });
  private readonly title: Title;
  private readonly tools: ToolBar;
  private readonly tabs: Tabs;
  private readonly transport: Transport;
  private readonly banner: Banner;
  private readonly blank: EmptyState;
  private readonly toast = new Toast();
  private readonly help = new Help();
  private readonly selection: SelectionCard;
  private readonly controls: ControlsPanel;
  private readonly joints: JointsPanel;
  private readonly bodies: BodiesPanel;
  private readonly plots: PlotsPanel;
  private readonly viewPanel: ViewPanel;
  private readonly darkQuery = window.matchMedia("(prefers-color-scheme: dark)");
  private readonly motionQuery = window.matchMedia("(prefers-reduced-motion: reduce)");
  private scheduled = false;
  private before = 0;
  private stale = true;
  private panelAge = Infinity;
  private pulling = false;
  private small = false;
  private openWhenSmall = false;
  private framesShown = 0;
  private fps = 0;
  private fpsFrames = 0;
  private fpsSince = 0;
  private lastMessage: string | null = null;

  constructor(root: HTMLElement) {
    const reduced = () => this.motionQuery.matches;
    this.session = new Session(
      { scene: (scene) => this.build(scene), changed: () => this.refresh(), wake: () => this.wake() },
      () => !reduced(),
    );
    this.viewer = new Viewer(
      this.canvas,
      this.store.values,
      {
        wake: () => this.wake(),
        picked: (body) => this.select(body),
        dragStarts: (event) => this.session.isLive && (event.ctrlKey || event.metaKey || this.pulling),
        dragged: (drag) => {
          if (drag) this.session.send({ type: "drag", body: drag.body, point: drag.point.toArray(), target: drag.target.toArray() });
          else this.session.send({ type: "release" });
          this.stale = true;
        },
      },
      reduced,
    );
    const pick = (body: number) => this.select(body === this.viewer.selected ? -1 : body);
    this.title = new Title(this.session, this.store);
    this.controls = new ControlsPanel(this.session);
    this.joints = new JointsPanel(this.session);
    this.bodies = new BodiesPanel(pick);
    this.plots = new PlotsPanel(this.session, () => this.wake());
    this.viewPanel = new ViewPanel(this.store);
    this.tabs = new Tabs(
      [
        { id: "controls", text: "Controls", element: this.controls.element },
        { id: "joints", text: "Joints", element: this.joints.element },
        { id: "bodies", text: "Bodies", element: this.bodies.element },
        { id: "plots", text: "Plots", element: this.plots.element },
        { id: "view", text: "View", element: this.viewPanel.element },
      ],
      this.store,
    );
    this.transport = new Transport(this.session);
    this.banner = new Banner(this.session);
    this.blank = new EmptyState(this.session);
    this.selection = new SelectionCard(() => this.select(-1), () => this.toggleFollow());
    const actions = {
      fit: () => this.viewer.fit(),
      follow: () => this.toggleFollow(),
      hand: () => this.togglePulling(),
      picture: () => this.savePicture(),
      help: () => this.help.toggle(),
      panel: () => this.togglePanel(),
    };
    this.tools = new ToolBar(this.store, actions);
    const drop = new DropZone(this.session);
    root.append(
      this.canvas,
      this.blank.element,
      h("div", { class: "left" }, this.title.element, this.selection.element),
      this.tools.element,
      this.tabs.element,
      this.transport.element,
      this.banner.element,
      this.toast.element,
      drop.element,
      this.help.element,
    );
    listenToKeys(this.session, this.store, { ...actions, theme: () => this.tools.nextTheme(), escape: () => this.select(-1) });
    releaseFocusAfterMouse();
    this.store.listen(() => this.settingsChanged());
    this.darkQuery.addEventListener("change", () => this.settingsChanged());
    new ResizeObserver(() => this.layout()).observe(root);
    this.canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.session.fail("The browser took the graphics away; it usually gives them back soon. Reload the page if not.");
    });
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.session.dismissError();
      this.stale = true;
      this.wake();
    });
    this.settingsChanged();
    this.layout();
    this.refresh();
  }

  begin(): void {
    this.session.begin(document, window.location);
    this.refresh();
    this.wake();
  }

  private build(scene: Scene): void {
    this.store.reveal(scene.geoms);
    this.viewer.load(scene);
    for (const panel of [this.controls, this.joints, this.bodies, this.plots, this.viewPanel]) panel.build(scene);
    this.select(-1);
    this.stale = true;
    this.panelAge = Infinity;
    this.wake();
  }

  private refresh(): void {
    this.title.refresh();
    this.transport.refresh();
    this.banner.refresh();
    this.blank.refresh();
    const message = this.session.status?.message ?? null;
    if (message && message !== this.lastMessage) this.toast.show(message);
    this.lastMessage = message;
    document.documentElement.classList.toggle("recorded", !this.session.isLive);
    this.refreshTools();
    this.stale = true;
    this.panelAge = Infinity;
    this.wake();
  }

  private refreshTools(): void {
    const { selected, following } = this.viewer;
    this.tools.refresh({ live: this.session.isLive, selected: selected > 0, following, pulling: this.pulling, open: this.panelOpen });
    this.selection.setFollowing(following);
  }

  private select(body: number): void {
    const chosen = body > 0 ? body : -1;
    this.viewer.select(chosen);
    this.selection.select(this.session.scene, chosen);
    this.bodies.select(chosen);
    this.refreshTools();
    this.panelAge = Infinity;
    this.wake();
  }

  private toggleFollow(): void {
    if (this.viewer.selected <= 0) this.toast.show("Pick a body first: click on it.");
    this.viewer.follow(!this.viewer.following);
    this.refreshTools();
    this.wake();
  }

  private togglePulling(): void {
    if (!this.session.isLive) return;
    this.pulling = !this.pulling;
    this.canvas.classList.toggle("pulling", this.pulling);
    this.refreshTools();
  }

  private savePicture(): void {
    this.viewer.screenshot((picture) => {
      if (!picture) {
        this.toast.show("The browser gave no picture.");
        return;
      }
      const link = h("a", { href: URL.createObjectURL(picture), download: `${this.session.scene?.name || "carom"}-${this.session.time.toFixed(3)}s.png` });
      link.click();
      URL.revokeObjectURL(link.href);
      this.toast.show(`Saved ${link.download}`);
    });
  }

  /** On small screens the panel covers the view: closed at first, and not remembered. */
  private get panelOpen(): boolean {
    return this.small ? this.openWhenSmall : (this.store.values.panel ?? true);
  }

  private togglePanel(): void {
    if (this.small) {
      this.openWhenSmall = !this.openWhenSmall;
      this.layout();
    } else {
      this.store.set({ panel: !this.panelOpen });
    }
  }

  private settingsChanged(): void {
    const { theme } = this.store.values;
    const dark = theme === "dark" || (theme === "system" && this.darkQuery.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    this.plots.theme = { text: colour("--faint"), grid: colour("--line"), cursor: colour("--text") };
    this.viewer.setDark(dark);
    this.viewer.applySettings();
    this.layout();
    this.stale = true;
    this.panelAge = Infinity;
    this.wake();
  }

  private layout(): void {
    const width = window.innerWidth;
    const height = window.innerHeight;
    this.small = width < SMALL_WIDTH || height < SMALL_HEIGHT;
    const open = this.panelOpen && this.session.scene !== null;
    document.documentElement.classList.toggle("small", this.small);
    document.documentElement.classList.toggle("panel-open", open);
    this.tabs.element.hidden = !open;
    const covered = open && !this.small ? this.tabs.element.offsetWidth + 12 : 0;
    this.viewer.resize(width, height, covered, this.transport.element.offsetHeight);
    this.refreshTools();
    this.stale = true;
    // A panel that opens shows this moment, not the one at which it was closed.
    this.panelAge = Infinity;
    this.wake();
  }

  private wake(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame((now) => this.loop(now));
  }

  /** One picture: draws only when there is something new, and sleeps otherwise. */
  private loop(now: number): void {
    this.scheduled = false;
    const pause = (now - this.before) / 1000;
    // After a rest the clock starts anew, or a recording would jump.
    const elapsed = pause > 0.25 ? 1 / 60 : pause;
    this.before = now;
    const fresh = this.session.tick(elapsed);
    if (fresh || this.stale) {
      const first = !this.hasShown;
      this.reportLost(this.viewer.show(this.session.run, this.session.ghost));
      if (first && this.session.run.ready) this.firstFrame();
      if (fresh) this.shown();
    }
    this.stale = false;
    const moving = this.viewer.render(elapsed);
    this.countFrames(now, pause);
    this.updatePanels(pause);
    const playing = this.session.mode === "recording" && !this.session.paused;
    if (moving || playing) this.wake();
  }

  private hasShown = false;
  private lostBodies = 0;

  private reportLost(count: number): void {
    if (count === this.lostBodies) return;
    this.lostBodies = count;
    if (count === 0) this.session.dismissError();
    else this.session.fail(`${count === 1 ? "One body has" : `${count} bodies have`} no finite position: the simulation went wrong. They stay where they were.`);
  }

  private firstFrame(): void {
    this.hasShown = true;
    this.blank.refresh();
    this.layout();
    const { recording, ghostRecording, run, ghost } = this.session;
    if (!recording) return;
    this.viewer.fitOver(ghostRecording ? [recording, ghostRecording] : [recording]);
    this.viewer.show(run, ghost);
  }

  private shown(): void {
    this.framesShown++;
    if (this.session.isLive) this.session.send({ type: "shown", frame: this.session.run.frame.number });
  }

  private countFrames(now: number, pause: number): void {
    if (pause > 0.5) {
      this.fpsSince = now;
      this.fpsFrames = 0;
      return;
    }
    this.fpsFrames++;
    const span = (now - this.fpsSince) / 1000;
    if (span < 0.5) return;
    this.fps = this.fpsFrames / span;
    this.fpsFrames = 0;
    this.fpsSince = now;
  }

  private updatePanels(elapsed: number): void {
    this.panelAge += elapsed;
    if (this.panelAge < PANEL_PERIOD) return;
    this.panelAge = 0;
    this.transport.update(this.fps);
    const { model } = this.viewer;
    const { run } = this.session;
    if (!model || !run.ready) return;
    if (this.viewer.selected > 0) this.selection.update(model, run, this.session.isLive);
    if (!this.panelOpen) return;
    if (this.tabs.current === "controls") this.controls.update(run.frame);
    if (this.tabs.current === "joints") this.joints.update(run.frame);
    if (this.tabs.current === "plots") this.plots.update();
  }

  /** What tests look at. */
  hook(): object {
    const { session, viewer } = this;
    return Object.defineProperties(
      {
        poses: () => viewer.model?.poses() ?? new Float32Array(0),
        setTime: (time: number) => {
          session.pause();
          session.seek(time);
        },
        screenPosition: (body: number) => {
          if (!viewer.model) return null;
          const point = viewer.model.bodies[body].position.clone().project(viewer.orbit.camera);
          return [((point.x + 1) / 2) * window.innerWidth, ((1 - point.y) / 2) * window.innerHeight];
        },
      },
      {
        ready: { get: () => session.run.ready && this.hasShown },
        frame: { get: () => session.run.frame.number },
        framesShown: { get: () => this.framesShown },
        time: { get: () => session.time },
        mode: { get: () => session.mode },
        paused: { get: () => session.paused },
        error: { get: () => session.error ?? session.status?.error ?? (session.lost ? `connection lost: ${session.lost.reason}` : null) },
        fps: { get: () => this.fps },
        selected: { get: () => (viewer.selected > 0 ? viewer.selected : null) },
        /** How often was drawn at all: stands still when nothing moves. */
        pictures: { get: () => viewer.stage.renderer.info.render.frame },
        drawCalls: { get: () => viewer.stage.renderer.info.render.calls },
      },
    );
  }
}

function start(): void {
  const root = document.getElementById("app");
  if (!root) return;
  try {
    const app = new App(root);
    (window as unknown as { __carom: object }).__carom = app.hook();
    app.begin();
  } catch (problem) {
    const reason = problem instanceof Error ? problem.message : String(problem);
    root.append(
      h(
        "div",
        { class: "blank" },
        h("h1", {}, "The viewer cannot start"),
        h("p", {}, "It draws with WebGL 2, which this browser does not offer here. Turn on hardware acceleration, or open the page in another browser."),
        h("p", { class: "detail" }, reason),
      ),
    );
    (window as unknown as { __carom: object }).__carom = { ready: false, error: reason };
  }
}

start();
