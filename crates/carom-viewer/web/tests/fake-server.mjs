// Serves the page and a made-up simulation over the protocol of the viewer, on loopback; remembers all it is told.
import { createServer } from "node:http";
import { WebSocketServer } from "ws";
import { fakeFrame, fakeScene } from "./fake-model.mjs";

const TOKEN = "for-tests";
/** As the real server's. */
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";

export class FakeServer {
  constructor(page, { recordings = [], period = 33 } = {}) {
    this.scene = fakeScene();
    this.recordings = recordings;
    this.received = [];
    this.sent = new Map();
    this.state = { time: 0, number: 0, paused: false, speed: 1, error: null, ctrl: [0, 0], joints: {}, offset: {} };
    this.http = createServer((request, response) => {
      const url = new URL(request.url, "http://localhost");
      const known = url.pathname === "/" && url.searchParams.get("token") === TOKEN;
      response.writeHead(known ? 200 : 404, { "content-type": "text/html; charset=utf-8", "content-security-policy": POLICY });
      response.end(known ? page : "");
    });
    this.sockets = new WebSocketServer({ server: this.http, path: "/ws" });
    this.sockets.on("connection", (socket) => this.welcome(socket));
    this.timer = setInterval(() => this.tick(period / 1000), period);
  }

  async listen() {
    await new Promise((resolve) => this.http.listen(this.port ?? 0, "127.0.0.1", resolve));
    this.port = this.http.address().port;
    return `http://127.0.0.1:${this.port}/?token=${TOKEN}`;
  }

  welcome(socket) {
    socket.on("message", (data) => this.hear(JSON.parse(String(data))));
    socket.send(JSON.stringify({ type: "scene", scene: this.scene }));
    socket.send(this.status());
    for (const recording of this.recordings) socket.send(recording);
    if (this.recordings.length === 0) socket.send(this.frame());
  }

  status() {
    const { paused, speed, error } = this.state;
    const mode = this.recordings.length > 0 ? "recording" : "live";
    return JSON.stringify({ type: "status", paused, speed, mode, real_time_factor: paused ? 0 : speed, message: null, error, frames: null, duration: null });
  }

  frame() {
    const { number, time } = this.state;
    const frame = fakeFrame(this.scene, number, time, this.state);
    this.sent.set(number, frame);
    this.sent.delete(number - 400);
    return frame;
  }

  broadcast(data) {
    for (const socket of this.sockets.clients) socket.send(data);
  }

  hear(message) {
    if (message.type === "shown") {
      this.shown = message.frame;
      return;
    }
    this.received.push(message);
    const { state } = this;
    if (message.type === "pause") state.paused = true;
    if (message.type === "resume") state.paused = false;
    if (message.type === "speed") state.speed = message.value;
    if (message.type === "reset" || message.type === "keyframe") state.time = 0;
    if (message.type === "step") state.time += 0.002 * (message.count ?? 1);
    if (message.type === "control") state.ctrl[message.index] = message.value;
    if (message.type === "qpos") state.joints[message.index] = message.value;
    if (message.type === "drag") state.offset[message.body] = [0, 0, 0.3];
    if (message.type === "release") state.offset = {};
    state.number++;
    this.broadcast(this.status());
    this.broadcast(this.frame());
  }

  setError(error) {
    this.state.error = error;
    this.broadcast(this.status());
  }

  tick(elapsed) {
    if (this.state.paused || this.recordings.length > 0) return;
    this.state.time += elapsed * this.state.speed;
    this.state.number++;
    this.broadcast(this.frame());
  }

  /** Goes away, as a server that was stopped; `listen` brings it back at the same port. */
  async stop() {
    for (const socket of this.sockets.clients) socket.terminate();
    await new Promise((resolve) => this.http.close(resolve));
  }

  async close() {
    clearInterval(this.timer);
    await this.stop();
  }
}
