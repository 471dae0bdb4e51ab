import {randomBytes} from 'node:crypto';
import {wireMicroTime} from '#src/api/time.js';
import {OwnedCaches} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import type {
  AdmissionReport,
  ChangeReport,
  ChangeStates,
  FlightRecorder,
  RecordedObject,
  ReconcileReport,
  SchedulingReport,
} from '#src/observe/flight-recorder.js';
import {differencesOf} from './differences.js';
import type {Entry, StateNote} from './entry.js';
import {RecordLog} from './log.js';
import type {MemorySegment} from './memory-segment.js';
import type {ChangeRecord, FlightRecord, RecorderInfo} from './records.js';
import {isSecret, withDigests} from './secrets.js';

const recorders = new OwnedCaches<Recorder>('flight_records', ({log: {bytes, maxBytes}}) => ({bytes, maxBytes}));

export interface RecorderParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly maxBytes: number;
  /** The key of the digests of secrets; by default one of this recorder alone. */
  readonly digestKey?: Buffer;
  readonly isOnDisk?: boolean;
}

/** The name of an object. */
export const objectId = ({group, resource, namespace = '', name = ''}: RecordedObject): string =>
  `${group}/${resource}/${namespace}/${name}`;

/** Keeps what is reported, up to a bound in bytes, and decodes it when it is read. */
export class Recorder implements FlightRecorder {
  readonly log: RecordLog;
  readonly isOnDisk: boolean;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #digestKey: Buffer;
  readonly #listeners = new Set<() => void>();

  constructor({clock, maxBytes, digestKey = randomBytes(32), isOnDisk = false}: RecorderParts) {
    this.log = new RecordLog(maxBytes);
    this.isOnDisk = isOnDisk;
    this.#clock = clock;
    this.#digestKey = digestKey;
    recorders.add(this);
  }

  change(report: ChangeReport, {before, after, jsonFrom}: ChangeStates): void {
    const {object, previous} = report;
    const segment = this.log.open();
    const now = this.#clock.now();
    // The state before is kept only if the change before is not.
    if (before && !segment.hasState(object))
      this.#appendState(segment, now, {kind: 'state', object, revision: previous ?? ''}, before, jsonFrom);
    this.#appendState(segment, now, report, after, jsonFrom);
    this.#appended();
  }

  reconcile(report: ReconcileReport): void {
    this.#append(JSON.stringify({kind: 'reconcile', ...report}));
  }

  admission({reason, ...report}: AdmissionReport): void {
    // The message of a webhook may quote what it refuses.
    const shown = reason === undefined || isSecret(report.object) ? {} : {reason};
    this.#append(JSON.stringify({kind: 'admission', ...report, ...shown}));
  }

  scheduling(report: SchedulingReport): void {
    this.#append(JSON.stringify({kind: 'scheduling', ...report}));
  }

  /** Calls `listener` after each record until the returned handle is disposed. */
  onRecord(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return {[Symbol.dispose]: () => void this.#listeners.delete(listener)};
  }

  info(): RecorderInfo {
    const {log, isOnDisk} = this;
    const {first, last, lastSeq} = log;
    return {
      version: 'v1',
      maxBytes: log.maxBytes,
      bytes: log.bytes,
      isOnDisk,
      ...(first ? {first: {seq: first.firstSeq, time: wireMicroTime(first.firstTime)}} : {}),
      ...(last ? {last: {seq: lastSeq, time: wireMicroTime(last.lastTime)}} : {}),
    };
  }

  /** Returns a record; undefined for an entry that only keeps a state. */
  record(entry: Entry, {objects = false} = {}): FlightRecord | undefined {
    const {seq, time, report} = entry;
    if (report.kind === 'state') return undefined;
    const record = {...report, seq, time: wireMicroTime(time)} as FlightRecord;
    return record.kind === 'change' ? this.#withStates(record, entry, objects) : record;
  }

  /** Returns the state that a change left; the last one of an object that was deleted. */
  state(entry: Entry): unknown {
    const json = entry.state();
    if (json === '') return undefined;
    const {revision} = entry.report as {readonly revision: string};
    const object = JSON.parse(json) as {metadata?: object};
    return {...object, metadata: {...object.metadata, resourceVersion: revision}};
  }

  #withStates(record: ChangeRecord, entry: Entry, objects: boolean): ChangeRecord {
    const after = entry.state();
    const before = entry.previous?.state() ?? '';
    const isComparable = record.type === 'updated' && before !== '' && after !== '';
    const {changes, omitted} = isComparable ? differencesOf(JSON.parse(before), JSON.parse(after)) : {changes: undefined, omitted: 0};
    const last = record.type === 'deleted' ? entry.previous : entry;
    const state = objects && last ? this.state(last) : undefined;
    return {
      ...record,
      ...(changes ? {changes} : {}),
      ...(omitted > 0 ? {changesOmitted: omitted} : {}),
      ...(state === undefined ? {} : {state}),
    };
  }

  #append(text: string): void {
    if (text.length > this.log.maxBytes / 8) return;
    this.log.open().append(this.#clock.now(), text);
    this.#appended();
  }

  #appendState(segment: MemorySegment, now: number, kept: ChangeReport | StateNote, state: Uint8Array | undefined, from: number): void {
    const {object} = kept;
    if (!state || state.length - from > this.log.maxBytes / 8) segment.appendState(now, kept, object, undefined, 0);
    else if (isSecret(object)) {
      const json = Buffer.from(state.buffer, state.byteOffset + from, state.length - from).toString();
      segment.appendState(now, kept, object, Buffer.from(withDigests(json, this.#digestKey)), 0);
    } else segment.appendState(now, kept, object, state, from);
  }

  #appended(): void {
    this.log.fit();
    if (this.#listeners.size > 0) for (const listener of this.#listeners) listener();
  }
}
