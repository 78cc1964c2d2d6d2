/** The websocket to the server, with reconnection. Keeps the newest frame only: a slow page drops frames, never memory. */
import { type Command, FRAME_MAGIC, magicOf, RECORDING_MAGIC, type Status } from "./protocol";

export interface ConnectionEvents {
  scene(value: unknown): void;
  status(status: Status): void;
  recording(buffer: ArrayBuffer): void;
  opened(): void;
  /** Lost or refused; the next attempt comes in `retry` seconds. */
  closed(reason: string, retry: number): void;
  failed(message: string): void;
}

const FIRST_RETRY = 0.5;
const LONGEST_RETRY = 8;

/** Where the websocket of the page at `location` is, or null when no server gave us the page. */
export function socketAddress(location: Pick<Location, "protocol" | "host" | "search">): string | null {
  if (location.protocol !== "http:" && location.protocol !== "https:") return null;
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${location.host}/ws?token=${encodeURIComponent(token)}`;
}

export class Connection {
  private socket: WebSocket | null = null;
  private retry = FIRST_RETRY;
  private timer = 0;
  private newest: ArrayBuffer | null = null;

  constructor(
    private readonly address: string,
    private readonly events: ConnectionEvents,
    private readonly frameArrived: () => void,
  ) {}

  get open(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  connect(): void {
    window.clearTimeout(this.timer);
    this.newest = null;
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.retry = FIRST_RETRY;
      this.events.opened();
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => this.receive(event.data);
    socket.onclose = (event) => {
      if (this.socket !== socket) return;
      const retry = this.retry;
      this.retry = Math.min(LONGEST_RETRY, retry * 2);
      this.timer = window.setTimeout(() => this.connect(), retry * 1000);
      this.events.closed(event.reason, retry);
    };
  }

  /** Tries again at once. */
  reconnect(): void {
    const old = this.socket;
    this.socket = null;
    old?.close();
    this.retry = FIRST_RETRY;
    this.connect();
  }

  send(command: Command): void {
    if (this.open) this.socket?.send(JSON.stringify(command));
  }

  /** The newest frame that was not yet taken. */
  take(): ArrayBuffer | null {
    const frame = this.newest;
    this.newest = null;
    return frame;
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      const magic = magicOf(data);
      if (magic === FRAME_MAGIC) {
        this.newest = data;
        this.frameArrived();
      } else if (magic === RECORDING_MAGIC) {
        this.events.recording(data);
      } else {
        this.events.failed("The server sent data that this page cannot read. Are page and server of the same version?");
      }
      return;
    }
    let message: { type?: string; scene?: unknown };
    try {
      message = JSON.parse(data) as typeof message;
    } catch {
      this.events.failed("The server sent a message that is not JSON.");
      return;
    }
    if (message.type === "scene") this.events.scene(message.scene);
    else if (message.type === "status") this.events.status(message as unknown as Status);
  }
}
