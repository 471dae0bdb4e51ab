import type {KubeObject} from '#src/api/types.js';

/**
 * How an object lies in the store: a header of 8 bytes (u16 where the object's own fields begin after kind and apiVersion, u16 unused, u32 where
 * `resourceVersion` is spliced in), then its JSON without resourceVersion. A read sends these bytes with the revision put in and parses nothing.
 */
const headerLength = 8;
const quote = 0x22;
const openBrace = Buffer.from('{');

/** The record of an object. Its kind and apiVersion are the hub's. */
export const encodeRecord = (object: KubeObject): Buffer => {
  const {apiVersion, kind, metadata = {}, ...rest} = object;
  const {resourceVersion: _, ...meta} = metadata as Record<string, unknown>;
  const prefix = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
  const metaText = JSON.stringify(meta);
  const restText = JSON.stringify(rest);
  const head = `${prefix}"metadata":{`;
  const text = `${head}${metaText.slice(1)}${restText === '{}' ? '}' : `,${restText.slice(1)}`}`;
  const length = Buffer.byteLength(text);
  const record = Buffer.allocUnsafe(headerLength + length);
  record.writeUInt16BE(Buffer.byteLength(prefix), 0);
  record.writeUInt16BE(0, 2);
  record.writeUInt32BE(Buffer.byteLength(head), 4);
  record.write(text, headerLength);
  return record;
};

const spliceOf = (record: Buffer): number => headerLength + record.readUInt32BE(4);
const versionText = (record: Buffer, splice: number, revision: number): string =>
  record[splice] === quote ? `"resourceVersion":"${revision}",` : `"resourceVersion":"${revision}"`;

/** The whole object's JSON with its resourceVersion, between two texts of ASCII. */
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

/** The pieces of an item of a list: the object without kind and apiVersion. */
export const recordItem = (record: Buffer, revision: number, into: Buffer[]): number => {
  const splice = spliceOf(record);
  const version = Buffer.from(versionText(record, splice, revision), 'latin1');
  const head = record.subarray(headerLength + record.readUInt16BE(0), splice);
  const tail = record.subarray(splice);
  into.push(openBrace, head, version, tail);
  return openBrace.length + head.length + version.length + tail.length;
};

/** The object, parsed afresh, with its resourceVersion. */
export const recordObject = <T extends KubeObject>(record: Buffer, revision: number): T => {
  const object = JSON.parse(record.toString('utf8', headerLength)) as T;
  (object.metadata as {resourceVersion?: string}).resourceVersion = String(revision);
  return object;
};
