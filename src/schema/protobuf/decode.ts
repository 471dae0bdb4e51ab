import type {Naming} from '#src/api/naming.js';
import {yieldInTurn} from '#src/base/turn.js';
import {DecodeError} from '#src/schema/decode/error.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {messageOf} from './messages.js';
import {ObjectReader, parseEmbedded} from './object-reader.js';
import {Message} from './message-type.js';
import {WireReader} from './wire-reader.js';

// Decodes objects and watch events from protobuf. Objects are in an envelope with their apiVersion and kind; long lists
// are decoded across turns of the event loop.

/** An encoded object in its envelope (`runtime.Unknown`). */
export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Buffer;
  readonly contentEncoding: string;
  /** Empty for protobuf itself. */
  readonly contentType: string;
}

/** The apiVersion and kind of an object that declares none. */
export interface KindDefaults {
  readonly apiVersion: string;
  readonly kind: string;
}

const typeMeta = new Message('TypeMeta', '1 apiVersion string; 2 kind string', () => {
  throw new Error('a type has no messages');
});
const unknown = new Message('Unknown', '1 +TypeMeta; 3 contentEncoding string!; 4 contentType string!', () => typeMeta);

/** Reports whether the bytes begin with the envelope's magic number. */
export const isEnvelope = (bytes: Buffer, {envelopeMagic}: Naming): boolean =>
  bytes.length >= envelopeMagic.length && envelopeMagic.every((byte, index) => bytes[index] === byte);

const rawTag = (2 << 3) | 2;

/** Reads the envelope and leaves the object encoded. Throws `DecodeError`. */
export const decodeEnvelope = (bytes: Buffer, naming: Naming): Envelope => {
  const {envelopeMagic} = naming;
  if (bytes.length === 0) throw new DecodeError('empty data');
  if (!isEnvelope(bytes, naming)) {
    throw new DecodeError(`provided data does not appear to be a protobuf message, expected prefix [${envelopeMagic.join(' ')}]`);
  }
  if (bytes.length === envelopeMagic.length) throw new DecodeError('empty body');
  const wire = new WireReader(bytes, envelopeMagic.length);
  const object: PlainObject = {};
  let raw = bytes.subarray(0, 0);
  while (wire.at < bytes.length) {
    const {at} = wire;
    const tag = wire.tag(bytes.length);
    if (tag === rawTag) {
      raw = wire.slice(wire.length(bytes.length));
      continue;
    }
    // Skip the other fields one by one, without decoding the object.
    wire.skip(tag & 7, bytes.length);
    const end = wire.at;
    wire.at = at;
    new ObjectReader(wire, parseEmbedded, 0).message(unknown, end, object);
  }
  const {apiVersion = '', kind = '', contentEncoding = '', contentType = ''} = object as Record<string, string | undefined>;
  return {apiVersion, kind, raw, contentEncoding, contentType};
};

/** Returns an encoded object with what is needed to decode it. */
const openEnvelope = (bytes: Buffer, naming: Naming, depth: number, defaults?: KindDefaults) => {
  const envelope = decodeEnvelope(bytes, naming);
  const apiVersion = envelope.apiVersion || (defaults?.apiVersion ?? '');
  const kind = envelope.kind || (defaults?.kind ?? '');
  if (kind === '') throw new DecodeError(`Object 'Kind' is missing in the envelope`);
  if (apiVersion === '') throw new DecodeError(`Object 'apiVersion' is missing in the envelope`);
  const message = messageOf(apiVersion, kind, naming);
  if (!message) throw new DecodeError(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  const embedded = (raw: Buffer, level: number): unknown =>
    isEnvelope(raw, naming) ? decodeAt(raw, naming, level) : parseEmbedded(raw, level);
  const wire = new WireReader(envelope.raw);
  const reader = new ObjectReader(wire, embedded, depth);
  const object: PlainObject = {kind, apiVersion};
  return {raw: envelope.raw, wire, readTo: (end: number) => reader.message(message, end, object)};
};

const decodeAt = (bytes: Buffer, naming: Naming, depth: number, defaults?: KindDefaults): PlainObject => {
  const {raw, readTo} = openEnvelope(bytes, naming, depth, defaults);
  return readTo(raw.length);
};

/** A watch event with its encoded object. */
export interface WatchEventParts {
  readonly type: string;
  readonly object: unknown;
}

/** Decodes the event of a frame, which has no envelope. Throws `DecodeError`. */
export const decodeWatchEvent = (bytes: Buffer, naming: Naming): WatchEventParts => {
  const embedded = (raw: Buffer, level: number): unknown =>
    isEnvelope(raw, naming) ? decodeAt(raw, naming, level) : parseEmbedded(raw, level);
  const {type = '', object} = new ObjectReader(new WireReader(bytes), embedded, 0).message(
    messageOf('v1', 'WatchEvent', naming)!,
    bytes.length,
    {},
  );
  return {type: type as string, object};
};

/**
 * Decodes an object with envelope to its JSON value, except that nulls are absent. `defaults` is the kind of an object
 * that declares none. Throws `DecodeError`; unknown fields are skipped.
 */
export const decodeObject = (bytes: Buffer, naming: Naming, defaults?: KindDefaults): PlainObject => decodeAt(bytes, naming, 0, defaults);

/** How many bytes are decoded in one turn of the event loop. */
const pieceBytes = 64 << 10;

/** Does the same as `decodeObject` across turns of the event loop, for long lists. Rejects with `DecodeError`. */
export const decodeInPieces = async (bytes: Buffer, naming: Naming): Promise<PlainObject> => {
  const {raw, wire, readTo} = openEnvelope(bytes, naming, 0);
  const fields = new WireReader(raw);
  while (fields.at < raw.length) {
    fields.skip(fields.tag(raw.length) & 7, raw.length);
    if (fields.at - wire.at < pieceBytes || fields.at === raw.length) continue;
    readTo(fields.at);
    await yieldInTurn();
  }
  return readTo(raw.length);
};
