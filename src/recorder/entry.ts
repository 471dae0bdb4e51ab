// The form of a record, in memory as on disk:
//
//     u32 length | u32 checksum, on disk | f64 time | f64 revision | f64 revision before, or -1
//     u8 form | 3 unused | u32 bytes of the text | 10 times u16: characters of each field of a change, or 0xffff | text | state
//
// A write of an object costs only this: the text of a change is its fields, one behind the other, and the record is
// made of them when it is read. Of other records the text is JSON. The state is the JSON of an object. The number of a
// record is not stored: segments know that of their first one.

import {crc32} from 'node:zlib';
import type {ChangeReport, RecordedObject} from '#src/observe/flight-recorder.js';
import type {ChangeRecord, FlightRecord} from './records.js';

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

const cut = (field: string): string => (field.length < absent ? field : field.slice(0, absent - 1));
const textOf = (field: string | undefined): string => (field === undefined ? '' : field.length < absent ? field : cut(field));

/** Returns the text of a change. */
export const changeText = ({object, verb, subresource, user, manager, request}: Appended): string =>
  textOf(object.group) +
  textOf(object.resource) +
  textOf(object.namespace) +
  textOf(object.name) +
  textOf(object.uid) +
  textOf(verb) +
  textOf(subresource) +
  textOf(user) +
  textOf(manager) +
  textOf(request);

const writeLength = (bytes: Buffer, at: number, field: string | undefined): void => {
  const length = field === undefined ? absent : Math.min(field.length, absent - 1);
  bytes[at] = length;
  bytes[at + 1] = length >> 8;
};

/** Writes the lengths of the fields of a change into its header. */
export const writeLengths = (bytes: Buffer, offset: number, {object, verb, subresource, user, manager, request}: Appended): void => {
  const at = offset + lengthsAt;
  writeLength(bytes, at, object.group);
  writeLength(bytes, at + 2, object.resource);
  writeLength(bytes, at + 4, object.namespace);
  writeLength(bytes, at + 6, object.name);
  writeLength(bytes, at + 8, object.uid);
  writeLength(bytes, at + 10, verb);
  writeLength(bytes, at + 12, subresource);
  writeLength(bytes, at + 14, user);
  writeLength(bytes, at + 16, manager);
  writeLength(bytes, at + 18, request);
};

export interface Header {
  readonly form: Form;
  readonly time: number;
  readonly revision: number;
  readonly previous: number;
  readonly length: number;
  readonly textBytes: number;
}

export const writeHeader = (bytes: Buffer, offset: number, {form, time, revision, previous, length, textBytes}: Header): void => {
  bytes.writeUInt32LE(length, offset);
  bytes.writeUInt32LE(0, offset + 4);
  bytes.writeDoubleLE(time, offset + 8);
  bytes.writeDoubleLE(revision, offset + 16);
  bytes.writeDoubleLE(previous, offset + 24);
  bytes.writeUInt32LE(form, offset + 32);
  bytes.writeUInt32LE(textBytes, offset + textBytesAt);
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

/** The records that an entry is one of. */
export interface Records {
  readonly firstSeq: number;
  readonly count: number;
  entry(index: number): Entry;
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

  get length(): number {
    return lengthOf(this.#bytes, this.#offset);
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

  get hasState(): boolean {
    return this.#stateAt < this.#offset + this.length;
  }

  /** The JSON of the state; empty without one. */
  state(): string {
    return this.#bytes.toString('utf8', this.#stateAt, this.#offset + this.length);
  }

  report(): Kept | StateNote {
    const {form} = this;
    if (form === forms.json) return JSON.parse(this.text) as Kept;
    const [group, resource, namespace, name, uid, verb, subresource, user, manager, request] = this.#fields();
    const object = {group: group ?? '', resource: resource ?? '', ...given({namespace, name, uid})};
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

  #fields(): (string | undefined)[] {
    const {text} = this;
    let from = 0;
    return Array.from({length: 10}, (_, field) => {
      const length = this.#bytes.readUInt16LE(this.#offset + lengthsAt + 2 * field);
      return length === absent ? undefined : text.slice(from, (from += length));
    });
  }
}

/** Returns the fields that are present. */
const given = <T extends Readonly<Record<string, string | undefined>>>(fields: T): {readonly [K in keyof T]?: string} =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {readonly [K in keyof T]?: string};
