// The form of a record, in memory as on disk:
//
//     u32 length | u32 checksum, on disk | f64 time | f64 revision | f64 revision before, or -1
//     u8 form | u8 offset of the JSON in the state | u8 1: the state is elsewhere | 1 unused | u32 bytes of the text
//     10 times u16: characters of each field of a change, or 0xffff | text | state
//
// A write of an object costs only this: the text of a change is its fields, one behind the other, and the record is
// made of them when it is read. Of other records the text is JSON. The state is the JSON of an object, with what the
// store has before it; in memory, that of a long one is not copied. The number of a record is not stored: segments know
// that of their first one.

import {crc32} from 'node:zlib';
import {fieldAt, metadataFieldsAt, textWithoutOwners} from '#src/api/json/object-bytes.js';
import type {ChangeReport, RecordedObject} from '#src/observe/flight-recorder.js';
import type {ChangeRecord, FlightRecord} from './records.js';

const jsonFromAt = 33;
const isElsewhereAt = 34;
const textBytesAt = 36;
const lengthsAt = 40;
export const headerLength = 60;
const absent = 0xffff;

/**
 * The forms of records: JSON, changes by their type, and the state of an object before its first change in a segment.
 */
export const forms = {json: 0, created: 1, updated: 2, deleted: 3, state: 4} as const;
export type Form = (typeof forms)[keyof typeof forms];
const changeTypes = ['', 'created', 'updated', 'deleted'] as const;

/** The fields of a record beside its position and its time. */
export type Kept<R = FlightRecord> = R extends FlightRecord ? Omit<R, 'seq' | 'time'> : never;

/** The state of an object before its first change in a segment. */
export interface StateNote {
  readonly kind: 'state';
  readonly object: RecordedObject;
  readonly revision: string;
}

/** What is appended of a change, or of a state before one. */
export type Appended = Pick<ChangeReport, 'object' | 'revision'> & Partial<Omit<ChangeReport, 'object' | 'revision' | 'kind' | 'type'>>;

/** Returns how many characters the fields of a change have. */
export const textLength = ({object, verb, subresource, user, manager, request}: Appended): number =>
  lengthOfText(object.group) +
  lengthOfText(object.resource) +
  lengthOfText(object.namespace) +
  lengthOfText(object.name) +
  lengthOfText(object.uid) +
  lengthOfText(verb) +
  lengthOfText(subresource) +
  lengthOfText(user) +
  lengthOfText(manager) +
  lengthOfText(request);

const lengthOfText = (field: string | undefined): number => (field === undefined ? 0 : Math.min(field.length, absent - 1));

/** Shorter texts are written faster character by character than by a call. */
const shortText = 16;

/** Writes a field, and its length into the header. Returns where the next one begins. */
const writeField = (bytes: Buffer, lengthAt: number, at: number, field: string | undefined): number => {
  const length = field === undefined ? absent : lengthOfText(field);
  bytes[lengthAt] = length;
  bytes[lengthAt + 1] = length >> 8;
  if (field === undefined) return at;
  if (length >= shortText) return at + bytes.write(length === field.length ? field : field.slice(0, length), at);
  for (let index = 0; index < length; index++) {
    const code = field.charCodeAt(index);
    if (code >= 0x80) return at + index + bytes.write(field.slice(index), at + index);
    bytes[at + index] = code;
  }
  return at + length;
};

/** Writes the fields of a change one behind the other, and their lengths into the header. Returns where they end. */
export const writeFields = (bytes: Buffer, offset: number, {object, verb, subresource, user, manager, request}: Appended): number => {
  const lengths = offset + lengthsAt;
  let at = offset + headerLength;
  at = writeField(bytes, lengths, at, object.group);
  at = writeField(bytes, lengths + 2, at, object.resource);
  at = writeField(bytes, lengths + 4, at, object.namespace);
  at = writeField(bytes, lengths + 6, at, object.name);
  at = writeField(bytes, lengths + 8, at, object.uid);
  at = writeField(bytes, lengths + 10, at, verb);
  at = writeField(bytes, lengths + 12, at, subresource);
  at = writeField(bytes, lengths + 14, at, user);
  at = writeField(bytes, lengths + 16, at, manager);
  return writeField(bytes, lengths + 18, at, request);
};

export interface Header {
  readonly form: Form;
  readonly time: number;
  readonly revision: number;
  readonly previous: number;
  readonly length: number;
  readonly textBytes: number;
  /** At most 255. */
  readonly jsonFrom: number;
  /** Whether the state is not among the bytes. */
  readonly isElsewhere: boolean;
}

export const writeHeader = (
  view: DataView,
  offset: number,
  {form, time, revision, previous, length, textBytes, jsonFrom, isElsewhere}: Header,
): void => {
  view.setUint32(offset, length, true);
  view.setUint32(offset + 4, 0, true);
  view.setFloat64(offset + 8, time, true);
  view.setFloat64(offset + 16, revision, true);
  view.setFloat64(offset + 24, previous, true);
  view.setUint32(offset + 32, form + (jsonFrom << 8) + (isElsewhere ? 1 << 16 : 0), true);
  view.setUint32(offset + textBytesAt, textBytes, true);
};

/** Returns the time of the record at an offset. */
export const timeOf = (bytes: Buffer, offset: number): number => bytes.readDoubleLE(offset + 8);

/** Returns the length of the record at an offset. */
export const lengthOf = (bytes: Buffer, offset: number): number => bytes.readUInt32LE(offset);

/** The checksum of a record is that of what follows it. */
const checksum = (bytes: Buffer, offset: number): number => crc32(bytes.subarray(offset + 8, offset + lengthOf(bytes, offset)));

export const writeChecksum = (bytes: Buffer, offset: number): void => void bytes.writeUInt32LE(checksum(bytes, offset), offset + 4);

/** Whether there is a whole record at an offset. */
export const isWhole = (bytes: Buffer, offset: number): boolean => {
  if (offset + headerLength > bytes.length) return false;
  const length = lengthOf(bytes, offset);
  return (
    length >= headerLength + bytes.readUInt32LE(offset + textBytesAt) &&
    offset + length <= bytes.length &&
    bytes.readUInt32LE(offset + 4) === checksum(bytes, offset)
  );
};

/** Whether the record at an offset is of an object at a revision. It is compared as it is written, with each update. */
export const isStateOf = (
  bytes: Buffer,
  offset: number,
  {group, resource, namespace, name, uid}: RecordedObject,
  revision: number,
): boolean => {
  if (bytes.readDoubleLE(offset + 16) !== revision) return false;
  const lengths = offset + lengthsAt;
  let at = behindSame(bytes, lengths, offset + headerLength, group);
  if (at >= 0) at = behindSame(bytes, lengths + 2, at, resource);
  if (at >= 0) at = behindSame(bytes, lengths + 4, at, namespace);
  if (at >= 0) at = behindSame(bytes, lengths + 6, at, name);
  if (at >= 0) at = behindSame(bytes, lengths + 8, at, uid);
  return at >= 0;
};

/** Returns the offset behind a field if it is written at an offset, with its length in the header; otherwise -1. */
const behindSame = (bytes: Buffer, lengthAt: number, at: number, field: string | undefined): number => {
  const length = field === undefined ? absent : lengthOfText(field);
  if (bytes[lengthAt]! + (bytes[lengthAt + 1]! << 8) !== length) return -1;
  if (field === undefined) return at;
  for (let index = 0; index < length; index++) {
    const code = field.charCodeAt(index);
    if (code >= 0x80) return behindRest(bytes, at + index, field.slice(index, length));
    if (bytes[at + index] !== code) return -1;
  }
  return at + length;
};

const behindRest = (bytes: Buffer, at: number, text: string): number => {
  const rest = Buffer.from(text);
  return bytes.subarray(at, at + rest.length).equals(rest) ? at + rest.length : -1;
};

const createdStart = Buffer.from('"creationTimestamp":"');
const quote = 0x22;

/** The records that an entry is one of. */
export interface Records {
  readonly firstSeq: number;
  readonly count: number;
  entry(index: number): Entry;
  /** Returns the state of a record that is not among its bytes. */
  stateElsewhere(index: number): Uint8Array | undefined;
  /** Returns the entry with the state of an object at a revision. */
  stateOf(object: RecordedObject, revision: number): Entry | undefined;
}

/** A record, which is decoded as far as it is read. */
export class Entry {
  readonly seq: number;
  readonly #records: Records;
  readonly #bytes: Buffer;
  readonly #offset: number;

  constructor(records: Records, bytes: Buffer, offset: number, seq: number) {
    this.#records = records;
    this.#bytes = bytes;
    this.#offset = offset;
    this.seq = seq;
  }

  /** The bytes of the record, without a state that is elsewhere. */
  get length(): number {
    return lengthOf(this.#bytes, this.#offset);
  }

  get #elsewhere(): Uint8Array | undefined {
    return this.#bytes[this.#offset + isElsewhereAt] === 1 ? this.#records.stateElsewhere(this.seq - this.#records.firstSeq) : undefined;
  }

  get time(): number {
    return timeOf(this.#bytes, this.#offset);
  }

  get revision(): number {
    return this.#bytes.readDoubleLE(this.#offset + 16);
  }

  /** Returns the entry with the object's state before, given the report of this one. */
  before({object}: {readonly object: RecordedObject}): Entry | undefined {
    return this.#records.stateOf(object, this.#previous);
  }

  get #previous(): number {
    return this.#bytes.readDoubleLE(this.#offset + 24);
  }

  get form(): Form {
    return this.#bytes[this.#offset + 32] as Form;
  }

  get text(): string {
    return this.#bytes.toString('utf8', this.#offset + headerLength, this.#stateAt);
  }

  get stateBytes(): number {
    return this.#elsewhere?.length ?? this.#offset + this.length - this.#stateAt;
  }

  get hasState(): boolean {
    return this.stateBytes > 0;
  }

  /** The JSON of the state; empty without one. */
  state(): string {
    return this.#stateBytes().toString();
  }

  #stateBytes(): Buffer {
    const jsonFrom = this.#bytes[this.#offset + jsonFromAt]!;
    const state = this.#elsewhere;
    if (state) return Buffer.from(state.buffer, state.byteOffset + jsonFrom, state.length - jsonFrom);
    return this.#bytes.subarray(this.#stateAt + jsonFrom, this.#offset + this.length);
  }

  /** The JSON of the state without the owners of fields, which cost as much as the rest; empty without a state. */
  stateWithoutOwners(): string {
    const json = this.#stateBytes();
    const fields = metadataFieldsAt(json);
    return fields === undefined ? json.toString() : textWithoutOwners(json, 0, fields);
  }

  /** Returns when the object of the state was created, which is not parsed; undefined if it does not say. */
  createdAt(): string | undefined {
    const json = this.#stateBytes();
    const fields = metadataFieldsAt(json);
    const at = fields === undefined ? undefined : fieldAt(json, fields, createdStart);
    if (at === undefined) return undefined;
    const from = at + createdStart.length;
    return json.toString('utf8', from, json.indexOf(quote, from));
  }

  /** Returns the group and the resource of the object of a change or a state. */
  kind(): Pick<RecordedObject, 'group' | 'resource'> {
    const [group = '', resource = ''] = this.#fields(2);
    return {group, resource};
  }

  /** Returns the object of a change or a state, without reading the rest of the report. */
  object(): RecordedObject {
    return objectOf(this.#fields(5));
  }

  /** Whether an entry is of the object of a name in a namespace, without reading the rest. */
  isNamed({group, resource, namespace, name}: RecordedObject): boolean {
    const lengths = this.#offset + lengthsAt;
    let at = behindSame(this.#bytes, lengths, this.#offset + headerLength, group);
    if (at >= 0) at = behindSame(this.#bytes, lengths + 2, at, resource);
    if (at >= 0) at = behindSame(this.#bytes, lengths + 4, at, namespace);
    return at >= 0 && behindSame(this.#bytes, lengths + 6, at, name) >= 0;
  }

  report(): Kept | StateNote {
    const {form} = this;
    if (form === forms.json) return JSON.parse(this.text) as Kept;
    const fields = this.#fields(10);
    const [verb, subresource, user, manager, request] = fields.slice(5);
    const object = objectOf(fields);
    const revision = String(this.revision);
    if (form === forms.state) return {kind: 'state', object, revision};
    const previous = this.#previous < 0 ? undefined : String(this.#previous);
    const type = changeTypes[form] as ChangeRecord['type'];
    return {
      kind: 'change',
      type,
      object,
      verb: verb ?? '',
      ...given({subresource}),
      revision,
      ...given({previous}),
      user: user ?? '',
      ...given({manager, request}),
    };
  }

  get #stateAt(): number {
    return this.#offset + headerLength + this.#bytes.readUInt32LE(this.#offset + textBytesAt);
  }

  /** Returns the first fields of the text. */
  #fields(count: number): (string | undefined)[] {
    const {text} = this;
    const fields: (string | undefined)[] = [];
    let from = 0;
    for (let field = 0; field < count; field++) {
      const length = this.#bytes.readUInt16LE(this.#offset + lengthsAt + 2 * field);
      fields.push(length === absent ? undefined : text.slice(from, (from += length)));
    }
    return fields;
  }
}

const objectOf = ([group = '', resource = '', namespace, name, uid]: readonly (string | undefined)[]): RecordedObject => ({
  group,
  resource,
  ...(namespace === undefined ? {} : {namespace}),
  ...(name === undefined ? {} : {name}),
  ...(uid === undefined ? {} : {uid}),
});

/** Returns the fields that are present. */
const given = <T extends Readonly<Record<string, string | undefined>>>(fields: T): {readonly [K in keyof T]?: string} =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {readonly [K in keyof T]?: string};
