import type {ChangeReport, RecordedObject} from '#src/observe/flight-recorder.js';
import type {FlightRecord} from './records.js';

/** The fields of a record beside its position and its time, as they are kept. */
export type Kept<R = FlightRecord> = R extends FlightRecord ? Omit<R, 'seq' | 'time'> : never;

/** The state of an object before its first change in a segment. */
export interface StateNote {
  readonly kind: 'state';
  readonly object: RecordedObject;
  readonly revision: string;
}

/** A record, which is decoded as far as it is read. */
export interface Entry {
  readonly seq: number;
  readonly time: number;
  /** The entry with the state of the object before, which is in the same segment. */
  readonly previous: Entry | undefined;
  /** What is kept as JSON; undefined where reading the report costs nothing. */
  readonly text: string | undefined;
  readonly report: Kept | StateNote;
  /** The bytes of the state. */
  readonly stateBytes: number;
  /** Returns the JSON of the state; empty without one. */
  state(): string;
}

/** A series of records that follow each other. */
export interface Segment {
  /** The number and the time of its first record. */
  readonly firstSeq: number;
  readonly firstTime: number;
  /** The time of its last record. */
  readonly lastTime: number;
  readonly count: number;
  /** What counts towards the bound. */
  readonly bytes: number;
  /** Returns its records, oldest first; a list that grows, if records are still appended to it. */
  entries(): readonly Entry[] | Promise<readonly Entry[]>;
}

/** What is kept of a change without being copied: the report itself, and of others their JSON. */
export type KeptInMemory = ChangeReport | StateNote | string;
