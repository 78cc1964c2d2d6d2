/** What is shown and where it comes from: a live server, or one or two recordings that are played here. */
import { Connection, socketAddress } from "./connection";
import { momentAt, nextSpeed, Playback } from "./playback";
import {
  Bytes,
  type Command,
  decodeBase64,
  Frame,
  frameMismatch,
  magicOf,
  ProtocolError,
  readFrame,
  RECORDING_MAGIC,
  type Scene,
  type Status,
} from "./protocol";
import { parseRecording, type Recording } from "./recording";
import { checkScene } from "./scene-data";
import { LiveSeries, RecordedSeries, type Series } from "./signals";

export interface SessionEvents {
  /** A (new) model; everything is built anew. */
  scene(scene: Scene): void;
  /** Recordings, mode, pause, speed or status changed. */
  changed(): void;
  /** Something to draw. */
  wake(): void;
}

/** A frame, the one after it and how far between them we are. */
export class Shown {
  readonly frame = new Frame();
  readonly next = new Frame();
  fraction = 0;
  ready = false;
  private readonly moment = { index: 0, fraction: 0 };

  seek(recording: Recording, time: number): void {
    const { index, fraction } = momentAt(recording.times, time, this.moment);
    recording.read(index, this.frame);
    recording.read(Math.min(index + 1, recording.count - 1), this.next);
    this.fraction = fraction;
    this.ready = true;
  }
}

export class Session {
  scene: Scene | null = null;
  mode: "live" | "recording" | "empty" = "empty";
  status: Status | null = null;
  readonly run = new Shown();
  readonly ghost = new Shown();
  recording: Recording | null = null;
  ghostRecording: Recording | null = null;
  playback: Playback | null = null;
  series: Series | null = null;
  ghostSeries: Series | null = null;
  /** Something is wrong with data or server. */
  error: string | null = null;
  /** The server cannot be reached; seconds until the next attempt. */
  lost: { reason: string; retry: number } | null = null;
  connected = false;
  framesReceived = 0;
  private live: LiveSeries | null = null;
  private connection: Connection | null = null;
  private sceneText = "";

  constructor(
    private readonly events: SessionEvents,
    private readonly autoplay: () => boolean,
  ) {}

  /** Works from the data in the page if there is some, from the server otherwise. */
  begin(document: Document, location: Location): void {
    if (document.getElementById("carom-scene")) {
      this.guard("This page's data cannot be shown", () => this.openDocument(document));
      return;
    }
    const address = socketAddress(location);
    if (!address) return;
    this.mode = "live";
    this.connection = new Connection(
      address,
      {
        scene: (value) => this.guard("The model cannot be shown", () => this.setScene(value)),
        status: (status) => this.setStatus(status),
        recording: (buffer) => this.guard("The recording cannot be shown", () => this.addRecording(buffer)),
        opened: () => this.setConnected(),
        closed: (reason, retry) => this.setLost(reason, retry),
        failed: (message) => this.fail(message),
      },
      () => this.events.wake(),
    );
    this.connection.connect();
  }

  /** Takes scene and recordings from an exported page. */
  openDocument(document: Document): void {
    const text = document.getElementById("carom-scene")?.textContent;
    if (!text) throw new ProtocolError("the page holds no scene");
    this.setScene(JSON.parse(text));
    const recordings = document.querySelectorAll("script#carom-recording");
    this.mode = "recording";
    [...recordings].slice(0, 2).forEach((script) => {
      this.addRecording(decodeBase64(script.textContent ?? ""), script.getAttribute("data-name") ?? "");
    });
    this.events.changed();
  }

  private setConnected(): void {
    this.lost = null;
    this.connected = true;
    this.error = null;
    this.events.changed();
  }

  private setLost(reason: string, retry: number): void {
    this.connected = false;
    this.lost = { reason, retry };
    this.events.changed();
  }

  private setStatus(status: Status): void {
    this.status = status;
    this.events.changed();
  }

  fail(message: string): void {
    this.error = message;
    this.events.changed();
  }

  dismissError(): void {
    this.error = null;
    this.events.changed();
  }

  private guard(what: string, action: () => void): void {
    try {
      action();
    } catch (problem) {
      this.fail(`${what}: ${problem instanceof Error ? problem.message : String(problem)}.`);
    }
  }

  private setScene(value: unknown): void {
    const text = JSON.stringify(value);
    this.dropRecordings();
    // After a reconnection the same model keeps its view.
    if (text === this.sceneText && this.scene) return;
    const scene = checkScene(value);
    this.scene = scene;
    this.sceneText = text;
    this.run.ready = false;
    this.live = new LiveSeries(scene);
    this.series = this.live;
    this.events.scene(scene);
    this.events.changed();
  }

  private dropRecordings(): void {
    this.recording = this.ghostRecording = this.playback = this.ghostSeries = null;
    this.ghost.ready = false;
    this.series = this.live;
    if (this.connection) this.mode = "live";
  }

  /** Adds a recording: the first is the run, another one its ghost. */
  addRecording(buffer: ArrayBuffer, name = "", as: "next" | "run" | "ghost" = "next"): void {
    if (!this.scene) throw new ProtocolError("a recording needs its model, and none is shown");
    if (magicOf(buffer) !== RECORDING_MAGIC) throw new ProtocolError("this is not a recording: it does not begin with CRR1");
    const parsed = parseRecording(buffer, new Frame());
    const first = new Frame();
    parsed.read(0, first);
    const mismatch = frameMismatch(first, this.scene);
    if (mismatch) throw new ProtocolError(mismatch);
    const recording = name ? parsed.named(name) : parsed;
    const ghost = as === "ghost" || (as === "next" && this.recording !== null);
    if (ghost) {
      this.ghostRecording = recording;
      this.ghostSeries = new RecordedSeries(recording);
    } else {
      this.recording = recording;
      this.series = new RecordedSeries(recording);
    }
    this.mode = "recording";
    this.restartPlayback();
  }

  removeGhost(): void {
    this.ghostRecording = this.ghostSeries = null;
    this.ghost.ready = false;
    this.restartPlayback();
  }

  /** From a dropped recording back to the server's run. */
  backToLive(): void {
    if (!this.connection) return;
    this.dropRecordings();
    this.events.changed();
    this.events.wake();
  }

  get canGoLive(): boolean {
    return this.connection !== null && this.mode === "recording" && this.status?.mode === "live";
  }

  private restartPlayback(): void {
    const recordings = [this.recording, this.ghostRecording].filter((r) => r !== null);
    if (recordings.length === 0) return;
    const old = this.playback;
    this.playback = new Playback(Math.min(...recordings.map((r) => r.start)), Math.max(...recordings.map((r) => r.end)));
    if (old) {
      Object.assign(this.playback, { loop: old.loop, speed: old.speed, playing: old.playing });
      this.playback.seek(old.time);
    } else if (this.autoplay()) {
      this.playback.play();
    }
    this.seekFrames();
    this.events.changed();
    this.events.wake();
  }

  private seekFrames(): void {
    const time = this.playback?.time ?? 0;
    if (this.recording) this.run.seek(this.recording, time);
    if (this.ghostRecording) this.ghost.seek(this.ghostRecording, time);
  }

  /** Moves on by `elapsed` seconds; true if there is something new to show. */
  tick(elapsed: number): boolean {
    if (this.mode === "recording") {
      const wasPlaying = this.playback?.playing;
      const moved = this.playback?.advance(elapsed) ?? false;
      if (moved) this.seekFrames();
      if (wasPlaying !== this.playback?.playing) this.events.changed();
      return moved;
    }
    const buffer = this.connection?.take();
    if (!buffer || !this.scene) return false;
    let fresh = false;
    this.guard("A frame cannot be shown", () => {
      readFrame(new Bytes(buffer), 0, buffer.byteLength, this.run.frame);
      const mismatch = this.scene ? frameMismatch(this.run.frame, this.scene) : null;
      if (mismatch) throw new ProtocolError(mismatch);
      this.run.fraction = 0;
      this.run.ready = true;
      this.framesReceived++;
      this.live?.push(this.run.frame);
      fresh = true;
    });
    return fresh;
  }

  get time(): number {
    return this.mode === "recording" ? (this.playback?.time ?? 0) : this.run.frame.time;
  }

  get paused(): boolean {
    return this.mode === "recording" ? !(this.playback?.playing ?? false) : (this.status?.paused ?? false);
  }

  get speed(): number {
    return this.mode === "recording" ? (this.playback?.speed ?? 1) : (this.status?.speed ?? 1);
  }

  get isLive(): boolean {
    return this.mode === "live";
  }

  send(command: Command): void {
    this.connection?.send(command);
  }

  reconnect(): void {
    this.connection?.reconnect();
  }

  togglePlay(): void {
    if (this.playback && this.mode === "recording") this.playback.toggle();
    else {
      const paused = this.paused;
      this.send({ type: paused ? "resume" : "pause" });
      if (this.status) this.status.paused = !paused; // The server confirms.
    }
    this.announce();
  }

  step(count: number): void {
    if (this.mode === "recording" && this.playback && this.recording) {
      this.playback.step(this.recording.times, count);
      this.seekFrames();
    } else if (count > 0) {
      if (!this.paused) this.send({ type: "pause" });
      this.send({ type: "step", count });
    }
    this.announce();
  }

  seek(time: number): void {
    if (!this.playback) return;
    this.playback.seek(time);
    this.seekFrames();
    this.announce();
  }

  pause(): void {
    if (!this.paused) this.togglePlay();
  }

  reset(): void {
    if (this.mode === "recording") this.seek(this.playback?.start ?? 0);
    else this.send({ type: "reset" });
  }

  setLoop(loop: boolean): void {
    if (this.playback) this.playback.loop = loop;
    this.announce();
  }

  setSpeed(speed: number): void {
    if (this.mode === "recording" && this.playback) this.playback.speed = speed;
    else {
      this.send({ type: "speed", value: speed });
      if (this.status) this.status.speed = speed;
    }
    this.announce();
  }

  changeSpeed(direction: 1 | -1): void {
    this.setSpeed(nextSpeed(this.speed, direction));
  }

  private announce(): void {
    this.events.changed();
    this.events.wake();
  }
}
