import type {ByteReader} from './byte-reader.js';
import {headerPacker, type HeaderUnpacker, type SpdyHeaders} from './header-block.js';

/** The status codes of stream resets (SPDY/3 draft, §2.6.3). */
export const resetStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
  flowControlError: 7,
} as const;

/** A frame. The data of one frame may be split into several pieces, of which only the last one has the end flag. */
export type Frame =
  | {readonly kind: 'open'; readonly id: number; readonly headers: SpdyHeaders; readonly fin: boolean; readonly unidirectional: boolean}
  | {readonly kind: 'reply' | 'headers'; readonly id: number; readonly headers: SpdyHeaders; readonly fin: boolean}
  | {readonly kind: 'data'; readonly id: number; readonly bytes: Buffer; readonly fin: boolean}
  | {readonly kind: 'reset'; readonly id: number; readonly status: number}
  | {readonly kind: 'settings'; readonly initialWindow: number | undefined}
  | {readonly kind: 'ping'; readonly id: number}
  | {readonly kind: 'goAway'; readonly last: number; readonly status: number}
  | {readonly kind: 'window'; readonly id: number; readonly delta: number};

const types = {open: 1, reply: 2, reset: 3, settings: 4, ping: 6, goAway: 7, headers: 8, window: 9} as const;
const kinds = new Map(Object.entries(types).map(([kind, type]) => [type as number, kind as keyof typeof types]));

const version = 3;
const finFlag = 1;
const unidirectionalFlag = 2;
const initialWindowSetting = 7;
const idMask = 0x7fff_ffff;

/** The size limit of control frames. */
const maxControlBytes = 64 << 10;

/** Encodes the frames of one side. */
export const frameWriter = (): ((frame: Frame) => Buffer) => {
  const pack = headerPacker();
  return frame => {
    switch (frame.kind) {
      case 'data':
        return Buffer.concat([numbers(frame.id, ((frame.fin ? finFlag : 0) << 24) | frame.bytes.length), frame.bytes]);
      case 'open':
        return control(
          types.open,
          (frame.fin ? finFlag : 0) | (frame.unidirectional ? unidirectionalFlag : 0),
          Buffer.concat([numbers(frame.id, 0), Buffer.alloc(2), pack(frame.headers)]),
        );
      case 'reply':
      case 'headers':
        return control(types[frame.kind], frame.fin ? finFlag : 0, Buffer.concat([numbers(frame.id), pack(frame.headers)]));
      case 'reset':
        return control(types.reset, 0, numbers(frame.id, frame.status));
      case 'settings':
        return control(
          types.settings,
          0,
          frame.initialWindow === undefined ? numbers(0) : numbers(1, initialWindowSetting, frame.initialWindow),
        );
      case 'ping':
        return control(types.ping, 0, numbers(frame.id));
      case 'goAway':
        return control(types.goAway, 0, numbers(frame.last, frame.status));
      case 'window':
        return control(types.window, 0, numbers(frame.id, frame.delta));
    }
  };
};

const numbers = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * index);
  return bytes;
};

const control = (type: number, flags: number, payload: Buffer): Buffer =>
  Buffer.concat([numbers(((0x8000 | version) << 16) | type, (flags << 24) | payload.length), payload]);

/** Reads the frames of a peer until the stream ends. Throws for a malformed or too large frame. */
export async function* framesOf(reader: ByteReader, unpacker: HeaderUnpacker): AsyncGenerator<Frame> {
  for (;;) {
    const head = await reader.exactly(8);
    if (!head) return;
    const first = head.readUInt32BE(0);
    const length = head.readUInt32BE(4) & 0xff_ffff;
    const flags = head[4]!;
    if (first & 0x8000_0000) {
      if (((first >>> 16) & 0x7fff) !== version) throw new Error(`version ${(first >>> 16) & 0x7fff} is not spoken here`);
      if (length > maxControlBytes) throw new Error('a frame is too large');
      const payload = length > 0 ? await reader.exactly(length) : Buffer.alloc(0);
      if (!payload) throw new Error('a frame ends early');
      const frame = await controlFrame(first & 0xffff, flags, payload, unpacker);
      if (frame) yield frame;
    } else {
      yield* dataOf(reader, first & idMask, length, (flags & finFlag) !== 0);
    }
  }
}

async function* dataOf(reader: ByteReader, id: number, length: number, fin: boolean): AsyncGenerator<Frame> {
  if (length === 0) yield {kind: 'data', id, bytes: Buffer.alloc(0), fin};
  for (let left = length; left > 0;) {
    const bytes = await reader.some(left);
    if (!bytes) throw new Error('a frame ends early');
    left -= bytes.length;
    yield {kind: 'data', id, bytes, fin: fin && left === 0};
  }
}

/** Parses a control frame; undefined for ignored kinds. */
const controlFrame = async (type: number, flags: number, payload: Buffer, unpacker: HeaderUnpacker): Promise<Frame | undefined> => {
  const kind = kinds.get(type);
  if (!kind) return undefined;
  if (payload.length < (kind === 'open' ? 10 : kind === 'ping' || kind === 'settings' || kind === 'reply' || kind === 'headers' ? 4 : 8))
    throw new Error('a frame is too short');
  const id = payload.readUInt32BE(0) & idMask;
  const fin = (flags & finFlag) !== 0;
  switch (kind) {
    case 'open':
      return {kind, id, headers: await unpacker.unpack(payload.subarray(10)), fin, unidirectional: (flags & unidirectionalFlag) !== 0};
    case 'reply':
    case 'headers':
      return {kind, id, headers: await unpacker.unpack(payload.subarray(4)), fin};
    case 'reset':
      return {kind, id, status: payload.readUInt32BE(4)};
    case 'settings':
      return {kind, initialWindow: settingOf(payload)};
    case 'ping':
      return {kind, id: payload.readUInt32BE(0)};
    case 'goAway':
      return {kind, last: id, status: payload.readUInt32BE(4)};
    case 'window':
      return {kind, id, delta: payload.readUInt32BE(4) & idMask};
  }
};

const settingOf = (payload: Buffer): number | undefined => {
  for (let at = 4; at + 8 <= payload.length; at += 8)
    if ((payload.readUInt32BE(at) & 0xff_ffff) === initialWindowSetting) return payload.readUInt32BE(at + 4);
  return undefined;
};
