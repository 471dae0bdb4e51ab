// Cuts WebSocket frames where the bytes of a connection happen to be cut, so that a library that handles whole frames
// never waits for the rest of a large one: it unmasks and copies what has arrived, instead of tens of megabytes in one
// turn of the event loop.

const finalBit = 0x80;
const maskedBit = 0x80;
const opcodeBits = 0x0f;
/** Opcodes from here on are of control frames, which are short and must not be fragmented. */
const firstControlOpcode = 0x08;
const maskBytes = 4;

/** The current frame: what is known of it, and how many bytes of its payload are missing. */
interface Frame {
  /** The first byte: FIN, the reserved bits and the opcode. */
  readonly lead: number;
  readonly mask: Buffer | undefined;
  /** Whether it is passed on as it is. */
  readonly whole: boolean;
  begun: boolean;
  missing: number;
  /** The position of the next byte of its payload, modulo the length of the mask. */
  phase: number;
}

/**
 * Turns frames that arrive in several chunks into fragments of a message (RFC 6455, section 5.4), one for each chunk.
 * The messages stay the same. Control frames, frames longer than `maxFrameBytes` and malformed ones are passed on as
 * they are.
 */
export class FragmentedFrames {
  readonly #maxFrameBytes: number;
  /** The beginning of a frame's header. */
  #header: Buffer = Buffer.alloc(0);
  #frame: Frame | undefined;

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes;
  }

  /** The number of received bytes that were not passed on: a part of a header. */
  get heldBytes(): number {
    return this.#header.length;
  }

  /** Returns what to pass on of a chunk; it can be empty. */
  split(chunk: Buffer): Buffer {
    const bytes = this.#header.length > 0 ? Buffer.concat([this.#header, chunk]) : chunk;
    const parts: Buffer[] = [];
    let at = this.#frame ? this.#continue(this.#frame, bytes, 0, parts) : 0;
    let copied = at;
    while (at < bytes.length) {
      const header = headerLength(bytes, at);
      if (header === undefined) break;
      const length = payloadLength(bytes, at);
      const end = at + header + length;
      if (end > bytes.length) {
        parts.push(bytes.subarray(copied, at));
        copied = at = this.#begin(bytes, at, header, length, parts);
      } else at = end;
    }
    parts.push(bytes.subarray(copied, at));
    this.#header = Buffer.from(bytes.subarray(at));
    const [first] = parts;
    return parts.length === 1 ? first! : Buffer.concat(parts);
  }

  /** Begins a frame that ends in a later chunk. */
  #begin(bytes: Buffer, at: number, header: number, missing: number, parts: Buffer[]): number {
    const lead = bytes[at]!;
    const isMasked = (bytes[at + 1]! & maskedBit) !== 0;
    const payload = at + header;
    const whole = (lead & opcodeBits) >= firstControlOpcode || missing > this.#maxFrameBytes;
    const mask = isMasked ? Buffer.from(bytes.subarray(payload - maskBytes, payload)) : undefined;
    this.#frame = {lead, mask, whole, begun: false, missing, phase: 0};
    if (whole) parts.push(bytes.subarray(at, payload));
    return this.#continue(this.#frame, bytes, payload, parts);
  }

  #continue(frame: Frame, bytes: Buffer, from: number, parts: Buffer[]): number {
    const end = Math.min(bytes.length, from + frame.missing);
    if (end === from && frame.missing > 0) return from;
    frame.missing -= end - from;
    if (!frame.whole) parts.push(fragmentHeader(frame, end - from));
    parts.push(bytes.subarray(from, end));
    frame.begun = true;
    frame.phase = (frame.phase + end - from) % maskBytes;
    if (frame.missing === 0) this.#frame = undefined;
    return end;
  }
}

/** Returns the length of the header that begins at an offset; undefined if a part of it is missing. */
const headerLength = (bytes: Buffer, at: number): number | undefined => {
  if (at + 2 > bytes.length) return undefined;
  const second = bytes[at + 1]!;
  const code = second & 0x7f;
  const length = 2 + (code === 126 ? 2 : code === 127 ? 8 : 0) + (second & maskedBit ? maskBytes : 0);
  return at + length > bytes.length ? undefined : length;
};

const payloadLength = (bytes: Buffer, at: number): number => {
  const code = bytes[at + 1]! & 0x7f;
  if (code === 126) return bytes.readUInt16BE(at + 2);
  return code === 127 ? bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6) : code;
};

/** Returns the header of the next fragment of a frame, whose payload has `length` bytes. */
const fragmentHeader = ({lead, mask, begun, missing, phase}: Frame, length: number): Buffer => {
  const isLast = missing === 0;
  const first = (begun ? 0 : lead & ~finalBit) | (isLast ? lead & finalBit : 0);
  const masked = mask ? maskedBit : 0;
  const size = length < 126 ? [masked | length] : length < 1 << 16 ? [masked | 126, length >> 8, length & 0xff] : longSize(masked, length);
  const rotated = mask ? Array.from(mask, (_, index) => mask[(index + phase) % maskBytes]!) : [];
  return Buffer.from([first, ...size, ...rotated]);
};

const longSize = (masked: number, length: number): number[] => {
  const size = Buffer.alloc(8);
  size.writeUInt32BE(Math.floor(length / 2 ** 32), 0);
  size.writeUInt32BE(length % 2 ** 32, 4);
  return [masked | 127, ...size];
};
