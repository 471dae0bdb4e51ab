import type {Naming} from '#src/api/naming.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {KindDefaults} from './decode.js';
import {messageOf} from './messages.js';
import {ObjectWriter} from './object-writer.js';
import {WireWriter} from './wire-writer.js';

/** Reports whether objects of the kind have a protobuf encoding; custom resources have none. */
export const hasProtobuf = (apiVersion: string, kind: string, naming: Naming): boolean => messageOf(apiVersion, kind, naming) !== undefined;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Encodes an object with envelope, byte for byte as the original does. `defaults` is the kind of an object that
 * declares none. Throws `TypeError` for a kind without protobuf encoding and for a value of the wrong type.
 */
export const encodeObject = (object: PlainObject, naming: Naming, defaults?: KindDefaults): Buffer => {
  const apiVersion = textOf(object['apiVersion']);
  const kind = textOf(object['kind']);
  const message = messageOf(apiVersion || (defaults?.apiVersion ?? ''), kind || (defaults?.kind ?? ''), naming);
  if (!message) throw new TypeError(`the kind ${JSON.stringify(kind)} of ${JSON.stringify(apiVersion)} has no binary form`);
  const wire = new WireWriter();
  // contentType and contentEncoding stay empty.
  wire.text(4, '');
  wire.text(3, '');
  let before = wire.written;
  new ObjectWriter(wire).message(message, object);
  wire.close(2, before);
  before = wire.written;
  wire.text(2, kind);
  wire.text(1, apiVersion);
  wire.close(1, before);
  wire.bytes(Uint8Array.from(naming.envelopeMagic));
  return wire.finish();
};

/**
 * Encodes a frame of a watch stream: the length in four bytes, then the event. The object has an envelope; the event
 * has none.
 */
export const encodeWatchFrame = (type: string, objectBytes: Uint8Array): Buffer => {
  const wire = new WireWriter();
  wire.bytes(objectBytes);
  wire.close(1, 0);
  wire.close(2, 0);
  wire.text(1, type);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(wire.written);
  wire.bytes(length);
  return wire.finish();
};
