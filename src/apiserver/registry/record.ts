// The encoding of objects in the store, and reads of it that avoid parsing: JSON of objects, lists, labels and metadata
// is copied from the bytes. A record never holds its resourceVersion, which is the revision of its write.

import {jsonText, parseJson} from '#src/base/json/json.js';
import {fieldAt, objectEnd, ownersOf, textWithoutOwners} from '#src/api/json/object-bytes.js';
import type {KubeObject} from '#src/api/types.js';
import type {StoredRecord} from '#src/storage/store.js';

/**
 * The format of a record: a header of 8 bytes (u16 offset of the fields after kind and apiVersion, u16 mark, u32 offset
 * at which `resourceVersion` is inserted), then the object's JSON without resourceVersion. A read sends these bytes
 * with the revision inserted and parses nothing.
 */
export const headerLength = 8;
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const metadataStart = '"metadata":{';

/** Returns the mark of a record: stores that translate records keep the version of their rules there. 0 if unset. */
export const markOf = (record: Buffer): number => record.readUInt16BE(2);
export const setMark = (record: Buffer, mark: number): void => void record.writeUInt16BE(mark, 2);

/** Whether two records are equal apart from their marks. */
export const sameContent = (a: Buffer, b: Buffer): boolean => a.subarray(headerLength).equals(b.subarray(headerLength));

/** The JSON of metadata without its resourceVersion. */
const metadataText = (metadata: Readonly<Record<string, unknown>>): string => {
  if (metadata['resourceVersion'] === undefined) return jsonText(metadata);
  const {resourceVersion: _, ...meta} = metadata;
  return jsonText(meta);
};

/** Returns the record of an object in the hub version. */
export const encodeRecord = (object: KubeObject): Buffer => {
  const prefix = `{"kind":${JSON.stringify(object.kind)},"apiVersion":${JSON.stringify(object.apiVersion)},`;
  const head = `${prefix}${metadataStart}`;
  // The texts are written one after the other: joining them first would copy all of them once more.
  const texts = [head, metadataText((object.metadata ?? {}) as Record<string, unknown>).slice(1)];
  for (const key of Object.keys(object)) {
    if (key === 'kind' || key === 'apiVersion' || key === 'metadata') continue;
    const part = (object as unknown as Readonly<Record<string, unknown>>)[key];
    if (part !== undefined) texts.push(`,${JSON.stringify(key)}:`, jsonText(part));
  }
  let length = headerLength + 1;
  for (let index = 0; index < texts.length; index++) length += Buffer.byteLength(texts[index]!);
  const record = Buffer.allocUnsafe(length);
  record.writeUInt16BE(Buffer.byteLength(prefix), 0);
  record.writeUInt16BE(0, 2);
  record.writeUInt32BE(Buffer.byteLength(head), 4);
  let at = headerLength;
  for (let index = 0; index < texts.length; index++) at += record.write(texts[index]!, at);
  record[at] = closeBrace;
  return record;
};

const spliceOf = (record: Buffer): number =>
  headerLength + (((record[4]! << 24) | (record[5]! << 16) | (record[6]! << 8) | record[7]!) >>> 0);
const versionText = (record: Buffer, splice: number, revision: number): string =>
  record[splice] === quote ? `"resourceVersion":"${revision}",` : `"resourceVersion":"${revision}"`;

/** Whether a stored value is a record: encrypted ones begin with the name of their encryption. */
export const isRecord = (value: Buffer): boolean => value[headerLength] === 0x7b;

/** Returns the object's JSON without its resourceVersion. */
export const recordText = (record: Buffer): string => record.toString('utf8', headerLength);

/** Returns the object's JSON with its resourceVersion, between two texts of ASCII. */
export const recordJson = (record: Buffer, revision: number, before: string, after: string): Buffer => {
  const splice = spliceOf(record);
  const version = versionText(record, splice, revision);
  const json = Buffer.allocUnsafe(before.length + record.length - headerLength + version.length + after.length);
  if (before !== '') json.write(before, 0, 'latin1');
  let at = before.length + record.copy(json, before.length, headerLength, splice);
  at += json.write(version, at, 'latin1');
  at += record.copy(json, at, splice);
  json.write(after, at, 'latin1');
  return json;
};

/** Returns the start of a list item, which has no kind and apiVersion. */
const itemStart = (record: Buffer, splice: number, revision: number): string => `{${metadataStart}${versionText(record, splice, revision)}`;

/**
 * Returns a list's JSON: the items of the records, without kind and apiVersion, between two texts. Each item costs one
 * copy: the whole record is copied so that its tail is in place, and the bytes before the tail are overwritten. The
 * copy begins before the item does, so the last item is written first. `room` returns a buffer of at least so many
 * bytes.
 */
export const listJson = (
  records: readonly Pick<StoredRecord, 'value' | 'revision'>[],
  before: string,
  after: string,
  room: (bytes: number) => Buffer = Buffer.allocUnsafe,
): Buffer => {
  const {length} = records;
  const starts = Array.from<string>({length});
  const head = Buffer.from(before);
  let size = head.length + after.length + Math.max(0, length - 1);
  for (let index = 0; index < length; index++) {
    const {value, revision} = records[index]!;
    const splice = spliceOf(value);
    const start = itemStart(value, splice, revision);
    starts[index] = index === 0 ? start : `,${start}`;
    size += start.length + value.length - splice;
  }
  const json = room(size).subarray(0, size);
  let at = size - after.length;
  json.write(after, at, 'latin1');
  for (let index = length - 1; index >= 0; index--) {
    const {value} = records[index]!;
    const start = starts[index]!;
    const splice = spliceOf(value);
    const whole = at - value.length;
    at -= value.length - splice;
    if (whole < 0) json.set(value.subarray(splice), at);
    else json.set(value, whole);
    at -= start.length;
    json.write(start, at, 'latin1');
  }
  json.set(head, 0);
  return json;
};

/** Returns the same with kind and apiVersion in each item. */
export const wholeListJson: typeof listJson = (records, before, after, room = Buffer.allocUnsafe) => {
  const head = Buffer.from(before);
  const {length} = records;
  const versions = Array.from<string>({length});
  let size = head.length + after.length + Math.max(0, length - 1);
  for (let index = 0; index < length; index++) {
    const {value, revision} = records[index]!;
    const version = (versions[index] = versionText(value, spliceOf(value), revision));
    size += value.length - headerLength + version.length;
  }
  const json = room(size).subarray(0, size);
  json.set(head, 0);
  let at = head.length;
  for (let index = 0; index < length; index++) {
    const {value} = records[index]!;
    const splice = spliceOf(value);
    if (index > 0) json[at++] = comma;
    at += value.copy(json, at, headerLength, splice);
    at += json.write(versions[index]!, at, 'latin1');
    at += value.copy(json, at, splice);
  }
  json.write(after, at, 'latin1');
  return json;
};

/** Returns the JSON of an object's labels; undefined if it has none. */
export const labelsJson = (record: Buffer): string | undefined => {
  const start = fieldAt(record, spliceOf(record), labelsStart);
  return start === undefined
    ? undefined
    : record.toString('utf8', start + labelsStart.length - 1, objectEnd(record, start + labelsStart.length));
};

const labelsStart = Buffer.from('"labels":{');

/** Returns the offset after an object's metadata. */
export const metadataEnd = (record: Buffer): number => {
  const splice = spliceOf(record);
  return objectEnd(record, ownersOf(record, splice)?.end ?? splice);
};

/** Whether a record has a field after its metadata, by its key with quotes and colon. */
export const hasField = (record: Buffer, key: Buffer): boolean => fieldAt(record, metadataEnd(record), key) !== undefined;

/** Returns the JSON of an object's metadata with its resourceVersion. */
export const metadataJson = (record: Buffer, revision: number): string => {
  const splice = spliceOf(record);
  return `{${versionText(record, splice, revision)}${record.toString('utf8', splice, metadataEnd(record))}`;
};

/** What takes JSON in pieces. */
interface JsonPieces {
  text(text: string): void;
  copy(from: Buffer, start: number, end: number): void;
}

/** Writes the JSON of an object's metadata, which end before an offset, with its resourceVersion. */
export const writeMetadata = (pieces: JsonPieces, {value, revision}: Pick<StoredRecord, 'value' | 'revision'>, end: number): void => {
  const splice = spliceOf(value);
  pieces.text(`{${versionText(value, splice, revision)}`);
  pieces.copy(value, splice, end);
};

/** Returns a newly parsed object without the owners of its fields, which cost as much as the rest. */
export const recordWithoutOwners = <T extends KubeObject>(record: Buffer, revision: number): T => {
  return parsedAt(textWithoutOwners(record, headerLength, spliceOf(record)), revision);
};

/** Returns the approximate size of the parsed object of a record. */
export const parsedBytes = (record: Buffer): number => 3 * record.length;

/** Returns a newly parsed object with its resourceVersion. */
export const recordObject = <T extends KubeObject>(record: Buffer, revision: number): T => {
  return parsedAt(recordText(record), revision);
};

const parsedAt = <T extends KubeObject>(json: string, revision: number): T => {
  const object = parseJson(json) as T;
  (object.metadata as {resourceVersion?: string}).resourceVersion = String(revision);
  return object;
};

/** How many entries of a list or map a partial object keeps. */
const maxPartialEntries = 64;

/**
 * Returns the object with only the first entries of each list and map. No kind has as many named fields, so these are
 * complete, and parsing costs far less than for the whole of a long record.
 */
export const partialRecordObject = <T extends KubeObject>(record: Buffer): T => {
  const parts: string[] = [];
  const counts: number[] = [];
  let from = headerLength;
  let skipped = 0;
  let isInText = false;
  for (let at = headerLength; at < record.length; at++) {
    const byte = record[at]!;
    if (isInText) {
      if (byte === backslash) at++;
      else if (byte === quote) isInText = false;
    } else if (byte === quote) isInText = true;
    else if (byte === openBrace || byte === openBracket) counts.push(0);
    else if (byte === closeBrace || byte === closeBracket) {
      if (skipped === counts.length) {
        from = at;
        skipped = 0;
      }
      counts.pop();
    } else if (byte === comma && skipped === 0 && ++counts[counts.length - 1]! === maxPartialEntries) {
      parts.push(record.toString('utf8', from, at));
      skipped = counts.length;
    }
  }
  return JSON.parse(parts.join('') + record.toString('utf8', from)) as T;
};
