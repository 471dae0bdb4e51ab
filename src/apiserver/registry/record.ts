// The encoding of objects in the store, and reads of it that avoid parsing: JSON of objects, lists, labels and metadata
// is copied from the bytes. A record never holds its resourceVersion, which is the revision of its write.

import {jsonText, parseJson} from '#src/base/json/json.js';
import type {KubeObject} from '#src/api/types.js';
import type {StoredRecord} from '#src/storage/store.js';

/**
 * The format of a record: a header of 8 bytes (u16 offset of the fields after kind and apiVersion, u16 mark, u32 offset
 * at which `resourceVersion` is inserted), then the object's JSON without resourceVersion. A read sends these bytes
 * with the revision inserted and parses nothing.
 */
export const headerLength = 8;
const quote = 0x22;
const closeBrace = 0x7d;
const comma = 0x2c;
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

const openBrace = 0x7b;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const labelsStart = Buffer.from('"labels":{');

/**
 * Returns the offset after the closing brace of the object around `start`, or the first offset of a string at its top
 * level for which `stopsAt` returns true.
 */
const objectEnd = (record: Buffer, start: number, stopsAt?: (at: number) => boolean): number => {
  const {length} = record;
  let depth = 1;
  let isInText = false;
  for (let at = start; at < length; at++) {
    const byte = record[at]!;
    if (byte === quote) {
      if (!isInText && depth === 1 && stopsAt?.(at)) return at;
      isInText = !isInText;
    } else if (isInText) at += byte === backslash ? 1 : 0;
    else if (byte === openBrace) depth++;
    else if (byte === closeBrace && --depth === 0) return at + 1;
  }
  throw new Error('an object in a record has no end');
};

/** Returns the JSON of an object's labels; undefined if it has none. */
export const labelsJson = (record: Buffer): string | undefined => {
  let start = 0;
  objectEnd(record, spliceOf(record), at => {
    if (record[at + 1] !== labelsStart[1] || labelsStart.compare(record, at, at + labelsStart.length) !== 0) return false;
    start = at + labelsStart.length;
    return true;
  });
  return start === 0 ? undefined : record.toString('utf8', start - 1, objectEnd(record, start));
};

const ownersStart = Buffer.from('"managedFields":[{');
const listEnd = Buffer.from('}]');

/** Where the owners of fields are in the metadata of a record. */
interface Owners {
  /** The offset of their key. */
  readonly start: number;
  /** The offset after the list. */
  readonly end: number;
}

/**
 * Returns where the owners of fields are, which make up most of the metadata and are not read byte by byte: without a
 * list in them, the first `}]` outside of a text ends them. Undefined if there are none, or if they contain a bracket.
 */
const ownersOf = (record: Buffer, splice: number): Owners | undefined => {
  const found = record.indexOf(ownersStart, splice);
  if (found === -1) return undefined;
  const start = objectEnd(record, splice, at => at === found);
  if (start !== found) return undefined; // They are of an object within this one.
  for (let at = record.indexOf(listEnd, found); at !== -1; at = record.indexOf(listEnd, at + 1)) {
    const end = at + listEnd.length;
    const next = record[end];
    // In a text, a quote that follows `}]}` or `}],` ends it, and no key follows that quote.
    const isEnd = next === comma ? isKeyStart(record, end + 1) : next === closeBrace && isValueEnd(record, end + 1);
    if (!isEnd) continue;
    const bracket = record.indexOf(openBracket, start + ownersStart.length);
    return bracket === -1 || bracket > end ? {start, end} : undefined;
  }
  return undefined;
};

/** Whether a key begins at this offset, where a value could end before it; false within a text and at its end. */
const isKeyStart = (record: Buffer, at: number): boolean => {
  const letter = record[at + 1]! | 0x20;
  return record[at] === quote && letter >= 0x61 && letter <= 0x7a;
};

/** Whether metadata that end before this offset are followed by the next field, or by the end of the object. */
const isValueEnd = (record: Buffer, at: number): boolean =>
  record[at] === comma ? isKeyStart(record, at + 1) : at === record.length - 1 && record[at] === closeBrace;

/** Returns the offset after an object's metadata. */
export const metadataEnd = (record: Buffer): number => {
  const splice = spliceOf(record);
  return objectEnd(record, ownersOf(record, splice)?.end ?? splice);
};

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
  const owners = ownersOf(record, spliceOf(record));
  if (!owners) return recordObject(record, revision);
  const isLast = record[owners.end] === closeBrace;
  // One of the commas around the list goes with it.
  const [start, end] = isLast ? [owners.start - (record[owners.start - 1] === comma ? 1 : 0), owners.end] : [owners.start, owners.end + 1];
  const object = parseJson(record.toString('utf8', headerLength, start) + record.toString('utf8', end)) as T;
  (object.metadata as {resourceVersion?: string}).resourceVersion = String(revision);
  return object;
};

/** Returns a newly parsed object with its resourceVersion. */
export const recordObject = <T extends KubeObject>(record: Buffer, revision: number): T => {
  const object = parseJson(record.toString('utf8', headerLength)) as T;
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
