import type {WireName} from './names.js';

export interface Question {
  readonly name: WireName;
  readonly type: number;
  readonly class: number;
}

/** A record; the names in its data are not compressed. */
export interface ResourceRecord {
  readonly name: WireName;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  /** One character is one byte. */
  readonly data: string;
}

/** What a message says in its OPT record (RFC 6891). */
export interface Edns {
  /** The largest message that the sender takes by UDP. */
  readonly payloadSize: number;
  readonly version: number;
  /** Whether signatures are wanted (the DO bit). */
  readonly dnssec: boolean;
}

/** The records of a message by section, without its OPT record. */
export interface Sections {
  readonly answers: readonly ResourceRecord[];
  readonly authority: readonly ResourceRecord[];
  readonly additional: readonly ResourceRecord[];
}

/** A message to write. */
export interface OutgoingMessage extends Sections {
  readonly id: number;
  /** The bits of the header, without the response code. */
  readonly flags: number;
  readonly rcode: number;
  readonly question: Question | undefined;
  readonly edns?: Edns | undefined;
}

export const noRecords: Sections = {answers: [], authority: [], additional: []};
