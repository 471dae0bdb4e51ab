import {flags, largestMessage, recordTypes} from './codes.js';
import {layouts} from './data-names.js';
import type {OutgoingMessage, ResourceRecord} from './message.js';
import {lowerCase, type WireName} from './names.js';

/** Pointers have so many values. */
const reachable = 0x4000;
const headerBytes = 12;
const optBytes = 11;

/** Writes messages, with compressed names. */
export class MessageWriter {
  /** A message is copied out of it, so there is room for one record too many. */
  readonly #bytes = Buffer.allocUnsafe(2 * largestMessage + 1024);
  /** Where the names of the message stand that is being written, in lower case. */
  readonly #places = new Map<WireName, number>();
  #at = 0;

  /**
   * Returns the bytes of a message: at most `limit`, if that leaves room for the question. Records that have no room
   * are left out from the end. The message is truncated if answers are missing, or the authority for there being none.
   */
  write(message: OutgoingMessage, limit: number): Buffer {
    this.#at = headerBytes;
    this.#places.clear();
    if (message.question) this.#question(message.question);
    const most = limit - (message.edns ? optBytes : 0);
    const {answers, authority, additional} = message;
    const written = [this.#records(answers, most), 0, 0];
    if (written[0] === answers.length) written[1] = this.#records(authority, most);
    if (written[1] === authority.length) written[2] = this.#records(additional, most);
    const isTruncated = written[0]! < answers.length || (answers.length === 0 && written[1]! < authority.length);
    if (message.edns) this.#opt(message);
    this.#header(message, isTruncated, written);
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }

  #header({id, flags: bits, rcode, question, edns}: OutgoingMessage, isTruncated: boolean, written: readonly number[]): void {
    const end = this.#at;
    this.#at = 0;
    this.#uint16(id);
    this.#uint16((bits & 0xfff0) | (isTruncated ? flags.truncated : 0) | (rcode & 0xf));
    this.#uint16(question ? 1 : 0);
    this.#uint16(written[0]!);
    this.#uint16(written[1]!);
    this.#uint16(written[2]! + (edns ? 1 : 0));
    this.#at = end;
  }

  #question({name, type, class: cls}: NonNullable<OutgoingMessage['question']>): void {
    this.#name(name);
    this.#uint16(type);
    this.#uint16(cls);
  }

  /** Writes the records that have room, and returns how many. */
  #records(records: readonly ResourceRecord[], most: number): number {
    for (let index = 0; index < records.length; index++) {
      const start = this.#at;
      this.#record(records[index]!);
      if (this.#at <= most) continue;
      this.#at = start; // Nothing with a name follows, so what is known of the places after it does not matter.
      return index;
    }
    return records.length;
  }

  #record({name, type, class: cls, ttl, data}: ResourceRecord): void {
    this.#name(name);
    this.#uint16(type);
    this.#uint16(cls);
    this.#uint32(ttl);
    const start = this.#at;
    this.#at += 2;
    const layout = layouts.get(type);
    if (layout?.compressed && data !== '') this.#compressed(layout.parts, data);
    else this.#at += this.#bytes.write(data, this.#at, 'latin1');
    this.#bytes.writeUInt16BE(this.#at - start - 2, start);
  }

  #compressed(parts: readonly (string | number)[], data: string): void {
    let from = 0;
    for (const part of parts) {
      let to = from;
      if (typeof part === 'number') {
        to += part;
        this.#at += this.#bytes.write(data.slice(from, to), this.#at, 'latin1');
      } else {
        for (let length = data.charCodeAt(to); length > 0; length = data.charCodeAt(to)) to += length + 1;
        this.#name(data.slice(from, ++to));
      }
      from = to;
    }
  }

  #opt({rcode, edns}: OutgoingMessage): void {
    this.#bytes[this.#at++] = 0;
    this.#uint16(recordTypes.OPT);
    this.#uint16(edns!.payloadSize);
    this.#bytes[this.#at++] = rcode >> 4;
    this.#bytes[this.#at++] = edns!.version;
    this.#uint16(edns!.dnssec ? 0x8000 : 0);
    this.#uint16(0);
  }

  #name(name: WireName): void {
    const lower = lowerCase(name);
    let from = 0;
    for (;;) {
      const length = name.charCodeAt(from);
      if (!(length > 0)) break;
      const rest = from === 0 ? lower : lower.slice(from);
      const place = this.#places.get(rest);
      if (place !== undefined) {
        this.#label(name, 0, from);
        return this.#uint16(0xc000 | place);
      }
      if (this.#at + from < reachable) this.#places.set(rest, this.#at + from);
      from += length + 1;
    }
    this.#label(name, 0, from);
    this.#bytes[this.#at++] = 0;
  }

  #label(name: WireName, from: number, to: number): void {
    if (to > from) this.#at += this.#bytes.write(name.slice(from, to), this.#at, 'latin1');
  }

  #uint16(value: number): void {
    this.#bytes[this.#at++] = value >> 8;
    this.#bytes[this.#at++] = value;
  }

  #uint32(value: number): void {
    this.#uint16(value >>> 16);
    this.#uint16(value & 0xffff);
  }
}
