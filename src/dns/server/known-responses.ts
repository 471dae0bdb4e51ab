// Responses about the cluster's own names, as they were written, for equal queries until the cluster changes.

import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {Random} from '#src/base/random.js';
import {recordTypes} from '#src/dns/wire/codes.js';
import type {Sections} from '#src/dns/wire/message.js';
import type {Query} from '#src/dns/wire/read.js';

const bound = new CacheBound('dns_responses', 8 << 20);

const [idBytes, headerBytes, questionBytes, optBytes] = [2, 12, 4, 11] as const;
/** A record before its data, if its name is a pointer to the question. */
const recordBytes = 12;
const addressBytes = new Map<number, number>([
  [recordTypes.A, 4],
  [recordTypes.AAAA, 16],
]);
/** The object of an entry, and its buffer. */
const besideBytes = 200;

/** Where addresses stand in a response that are sent in another order each time. */
interface Rotation {
  readonly count: number;
  /** The first address, the distance to the next, and the size of each. */
  readonly start: number;
  readonly stride: number;
  readonly size: number;
}

/** A response that was written, and what is counted of it. */
export interface KnownResponse {
  readonly bytes: Buffer;
  readonly rcode: number;
  readonly type: number;
  readonly dnssec: boolean;
  readonly rotation: Rotation | undefined;
}

const swap = (bytes: Buffer, one: number, other: number, size: number): void => {
  for (let at = 0; at < size; at++) {
    const byte = bytes[one + at]!;
    bytes[one + at] = bytes[other + at]!;
    bytes[other + at] = byte;
  }
};

/** Each order has the same chance. */
const rotate = (bytes: Buffer, {count, start, stride, size}: Rotation, random: Random): void => {
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random.float() * (last + 1));
    if (other !== last) swap(bytes, start + last * stride, start + other * stride, size);
  }
};

const isTruncated = (bytes: Buffer): boolean => (bytes[2]! & 0x02) !== 0;

/**
 * Where the addresses of a response stand: undefined without any to put into another order, and false where that is not
 * known.
 */
const rotationOf = ({question}: Query, {answers, additional}: Sections, bytes: Buffer): Rotation | undefined | false => {
  if (isTruncated(bytes) || additional.length > 1) return false;
  if (answers.length < 2) return undefined;
  const size = addressBytes.get(question.type);
  if (size === undefined || answers.some(({name, type}) => type !== question.type || name !== question.name)) return false;
  const first = headerBytes + question.name.length + questionBytes;
  return {count: answers.length, start: first + recordBytes, stride: recordBytes + size, size};
};

/** Whether a query is nothing but a question and the size of a message, and so likely to be asked again. */
const isPlain = ({question, edns}: Query, bytes: Buffer): boolean =>
  bytes.length === headerBytes + question.name.length + questionBytes + (edns ? optBytes : 0);

/** What makes two queries equal: all but their ids. */
const keyOf = (bytes: Buffer): string => bytes.toString('latin1', idBytes);

/** Responses by the bytes of the queries. They are forgotten when the zone changes. */
export class KnownResponses {
  readonly #random: Random;
  readonly #entries = new Lru<string, KnownResponse>(bound, {bytesOf: ({bytes}) => besideBytes + bytes.length});
  #version = -1;

  constructor(random: Random) {
    this.#random = random;
  }

  find(query: Buffer, version: number): KnownResponse | undefined {
    if (version === this.#version) return this.#entries.get(keyOf(query));
    this.#entries.clear();
    this.#version = version;
    return undefined;
  }

  /** Returns the bytes for a query that is equal but for its id. */
  bytesFor(query: Buffer, {bytes, rotation}: KnownResponse): Buffer {
    const copy = Buffer.allocUnsafe(bytes.length);
    bytes.copy(copy);
    copy[0] = query[0]!;
    copy[1] = query[1]!;
    if (rotation) rotate(copy, rotation, this.#random);
    return copy;
  }

  /** Keeps a response of the version that was asked for last. */
  keep(bytes: Buffer, query: Query, response: Buffer, {rcode, ...sections}: Sections & {readonly rcode: number}): void {
    if (!isPlain(query, bytes)) return;
    const rotation = rotationOf(query, sections, response);
    if (rotation === false) return;
    const {question, edns} = query;
    this.#entries.set(keyOf(bytes), {bytes: response, rcode, type: question.type, dnssec: edns?.dnssec ?? false, rotation});
  }
}
