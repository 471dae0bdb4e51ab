import {flags, opcodeOf, rcodes, recordTypes} from './codes.js';
import {layouts} from './data-names.js';
import type {Edns, Question, ResourceRecord, Sections} from './message.js';
import {Reader} from './reader.js';

/** A query of a client. */
export interface Query {
  readonly kind: 'query';
  readonly id: number;
  readonly flags: number;
  readonly question: Question;
  readonly edns: Edns | undefined;
}

/** A message that is answered by a code and nothing else. */
export interface Malformed {
  readonly kind: 'malformed';
  readonly id: number;
  readonly flags: number;
  readonly rcode: number;
}

const headerBytes = 12;
const queryOpcode = 0;

/**
 * Reads a message that a client has sent. Undefined for what gets no answer, with which others could be flooded:
 * responses, and messages without a header. Bytes after the message are ignored.
 */
export const readQuery = (bytes: Buffer): Query | Malformed | undefined => {
  if (bytes.length < headerBytes) return undefined;
  const reader = new Reader(bytes);
  const [id, bits] = [reader.uint16(), reader.uint16()];
  if (bits & flags.response) return undefined;
  const refused = (rcode: number): Malformed => ({kind: 'malformed', id, flags: bits, rcode});
  if (opcodeOf(bits) !== queryOpcode) return refused(rcodes.NOTIMP);
  const counts = [reader.uint16(), reader.uint16(), reader.uint16(), reader.uint16()] as const;
  // A query has one question; an incremental transfer has one record beside it, and OPT and a signature are additional.
  if (counts[0] !== 1 || counts[1] > 1 || counts[2] > 1 || counts[3] > 2) return refused(rcodes.FORMERR);
  const question = readQuestion(reader);
  let edns: Edns | undefined;
  for (let left = counts[1] + counts[2] + counts[3]; left > 0 && reader.isIntact; left--) {
    const found = skipRecord(reader);
    if (!found) continue;
    if (edns) return refused(rcodes.FORMERR);
    edns = found;
  }
  if (!reader.isIntact) return refused(rcodes.FORMERR);
  return {kind: 'query', id, flags: bits, question, edns};
};

const readQuestion = (reader: Reader): Question => ({name: reader.name(), type: reader.uint16(), class: reader.uint16()});

const ednsOf = (payloadSize: number, ttl: number): Edns => ({
  payloadSize,
  version: (ttl >>> 16) & 0xff,
  dnssec: (ttl & 0x8000) !== 0,
});

/** Passes over a record. Returns what an OPT record says. */
const skipRecord = (reader: Reader): Edns | undefined => {
  reader.skipName();
  const [type, size, ttl, length] = [reader.uint16(), reader.uint16(), reader.uint32(), reader.uint16()];
  reader.text(length);
  return type === recordTypes.OPT && reader.isIntact ? ednsOf(size, ttl) : undefined;
};

/** A response of another server. */
export interface Response extends Sections {
  readonly id: number;
  readonly flags: number;
  readonly rcode: number;
  readonly question: Question;
}

/** Reads a response; undefined if it is none, or broken. One that is truncated may end early. */
export const readResponse = (bytes: Buffer): Response | undefined => {
  const reader = new Reader(bytes);
  const [id, bits] = [reader.uint16(), reader.uint16()];
  const counts = [reader.uint16(), reader.uint16(), reader.uint16(), reader.uint16()] as const;
  if (!reader.isIntact || !(bits & flags.response) || counts[0] !== 1) return undefined;
  const question = readQuestion(reader);
  if (!reader.isIntact) return undefined;
  if (bits & flags.truncated) return {id, flags: bits, rcode: bits & 0xf, question, answers: [], authority: [], additional: []};
  let rcode = bits & 0xf;
  const section = (count: number): ResourceRecord[] => {
    const records: ResourceRecord[] = [];
    for (let left = count; left > 0 && reader.isIntact; left--) {
      const record = readRecord(reader);
      if (record.type === recordTypes.OPT) rcode |= (record.ttl >>> 24) << 4;
      else records.push(record);
    }
    return records;
  };
  const [answers, authority, additional] = [section(counts[1]), section(counts[2]), section(counts[3])];
  return reader.isIntact ? {id, flags: bits, rcode, question, answers, authority, additional} : undefined;
};

const readRecord = (reader: Reader): ResourceRecord => {
  const name = reader.name();
  const [type, cls, ttl, length] = [reader.uint16(), reader.uint16(), reader.uint32(), reader.uint16()];
  return {name, type, class: cls, ttl, data: readData(reader, type, length)};
};

const readData = (reader: Reader, type: number, length: number): string => {
  const layout = length > 0 ? layouts.get(type) : undefined;
  if (!layout) return reader.text(length);
  const end = reader.at + length;
  // The data must not reach into what follows, while pointers in them lead anywhere before them.
  const inner = new Reader(reader.bytes.subarray(0, end), reader.at);
  const data = layout.parts.map(part => {
    if (part === 'name') return inner.name();
    if (part === 'rest') return inner.text(end - inner.at);
    if (part !== 'text') return inner.text(part);
    const size = inner.uint8();
    return String.fromCharCode(size) + inner.text(size);
  });
  if (!inner.isIntact || inner.at !== end) return reader.fail();
  reader.at = end;
  return data.join('');
};
