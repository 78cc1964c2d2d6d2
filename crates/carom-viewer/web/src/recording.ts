/** A recorded run: all frames in one buffer, with an index of where and when each is. */
import { Bytes, type Frame, ProtocolError, readFrame, RECORDING_MAGIC } from "./protocol";

export class Recording {
  constructor(
    readonly name: string,
    readonly times: Float64Array,
    private readonly bytes: Bytes,
    private readonly starts: Float64Array,
    private readonly lengths: Uint32Array,
  ) {}

  get count(): number {
    return this.times.length;
  }

  get start(): number {
    return this.times[0];
  }

  get end(): number {
    return this.times[this.count - 1];
  }

  /** The same run under another name. */
  named(name: string): Recording {
    return new Recording(name, this.times, this.bytes, this.starts, this.lengths);
  }

  read(index: number, frame: Frame): void {
    readFrame(this.bytes, this.starts[index], this.lengths[index], frame);
  }
}

/** Reads a CRR1 buffer; every frame is checked here, so that playing cannot fail later. */
export function parseRecording(buffer: ArrayBuffer, scratch: Frame): Recording {
  const bytes = new Bytes(buffer);
  const { view } = bytes;
  if (view.byteLength < 12 || view.getUint32(0, true) !== RECORDING_MAGIC) {
    throw new ProtocolError("this is not a recording: it does not begin with CRR1");
  }
  const count = view.getUint32(4, true);
  const nameLength = view.getUint32(8, true);
  let at = 12 + 4 * Math.ceil(nameLength / 4);
  if (at > view.byteLength) throw new ProtocolError("the recording is cut short within its name");
  if (count === 0) throw new ProtocolError("the recording holds no frames");
  if (count > view.byteLength / 68) throw new ProtocolError(`the recording is too short for the ${count} frames it announces`);
  const name = new TextDecoder().decode(new Uint8Array(buffer, 12, nameLength));
  const times = new Float64Array(count);
  const starts = new Float64Array(count);
  const lengths = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    if (at + 4 > view.byteLength) throw new ProtocolError(`the recording is cut short: ${i} of ${count} frames are there`);
    lengths[i] = view.getUint32(at, true);
    starts[i] = at + 4;
    readFrame(bytes, starts[i], lengths[i], scratch);
    times[i] = scratch.time;
    if (!Number.isFinite(scratch.time)) throw new ProtocolError(`frame ${i} of the recording has no finite time`);
    if (i > 0 && times[i] < times[i - 1]) {
      throw new ProtocolError(`time goes back at frame ${i} of the recording, from ${times[i - 1]} s to ${times[i]} s`);
    }
    at = starts[i] + lengths[i];
  }
  return new Recording(name, times, bytes, starts, lengths);
}
