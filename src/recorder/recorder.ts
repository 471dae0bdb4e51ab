import {randomBytes} from 'node:crypto';
import {wireMicroTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
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
import {forms, textLength, type Entry} from './entry.js';
import type {RecordFolder} from './folder.js';
import {RecordLog} from './log.js';
import {mostBytes, type KeptState} from './segment.js';
import type {ChangeRecord, FlightRecord, RecorderInfo} from './records.js';
import {isSecret, withDigests} from './secrets.js';

const recorders = new OwnedCaches<Recorder>('flight_records', ({log: {bytes, maxBytes}}) => ({bytes, maxBytes}));

export interface RecorderParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly maxBytes: number;
  /** Where records are kept over restarts; in memory alone without it. */
  readonly folder?: RecordFolder | undefined;
}

/** An entry has a byte for where the JSON of its state begins. */
const maxJsonFrom = 255;

/** Shorter states are copied: as objects they would cost the garbage collector more. */
const leastElsewhere = 2048;

/** The most bytes of a record with a text of so many characters. */
const bytesOf = (length: number, state: KeptState | undefined): number =>
  mostBytes(length, state && !state.isElsewhere ? state.bytes.length : 0);
const elsewhereOf = (state: KeptState | undefined): number => (state?.isElsewhere ? state.bytes.length : 0);

/** The name of an object. */
export const objectId = ({group, resource, namespace = '', name = ''}: RecordedObject): string =>
  `${group}/${resource}/${namespace}/${name}`;

/** Keeps what is reported, up to a bound in bytes, and decodes it when it is read. */
export class Recorder implements FlightRecorder {
  readonly log: RecordLog;
  readonly #folder: RecordFolder | undefined;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #digestKey: Buffer;
  #left = 0;
  readonly #listeners = new Set<() => void>();

  constructor({clock, maxBytes, folder}: RecorderParts) {
    this.log = new RecordLog(maxBytes, folder);
    this.#folder = folder;
    this.#clock = clock;
    this.#digestKey = folder?.digestKey ?? randomBytes(32);
    recorders.add(this);
  }

  change(report: ChangeReport, {before, after, jsonFrom}: ChangeStates): void {
    if (!this.#takesRecords) return;
    const {type, object, previous} = report;
    const {log} = this;
    const now = this.#clock.now();
    const length = textLength(report);
    const state = this.#kept(object, after, jsonFrom);
    let segment = log.room(bytesOf(length, state), elsewhereOf(state));
    // The state before is kept only if the change before is not, and in the same segment.
    if (before && previous !== undefined && !segment.stateOf(object, previous)) {
      const old = this.#kept(object, before, jsonFrom);
      if (old) segment = log.room(bytesOf(length, state) + bytesOf(length, old), elsewhereOf(state) + elsewhereOf(old));
      if (old) segment.appendOf(forms.state, now, {object, revision: previous}, old);
    }
    segment.appendOf(forms[type], now, report, state);
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

  /** How many records were left out because the disk was full or too slow. */
  get left(): number {
    return this.#left;
  }

  /** Writes what waits for the disk. Never rejects. */
  async flush(): Promise<void> {
    await this.#folder?.flush();
  }

  /** Writes what waits for the disk, and ends. */
  async close(): Promise<void> {
    await this.#folder?.close();
  }

  info(): RecorderInfo {
    const {log} = this;
    const {segments, lastSeq} = log;
    const [first, last] = [segments[0], segments.at(-1)];
    return {
      version: 'v1',
      maxBytes: log.maxBytes,
      bytes: log.bytes,
      isOnDisk: this.#folder !== undefined,
      ...(first ? {first: {seq: first.firstSeq, time: wireMicroTime(first.firstTime)}} : {}),
      ...(last ? {last: {seq: lastSeq, time: wireMicroTime(last.lastTime)}} : {}),
    };
  }

  /** Returns a record; undefined for an entry that only keeps a state. */
  record(entry: Entry, {objects = false} = {}): FlightRecord | undefined {
    const {seq, time} = entry;
    const report = entry.report();
    if (report.kind === 'state') return undefined;
    const record = {...report, seq, time: wireMicroTime(time)} as FlightRecord;
    return record.kind === 'change' ? this.#withStates(record, entry, objects) : record;
  }

  /** Returns an object of the store as it may be shown: digests of a secret. */
  shown(of: RecordedObject, object: Readonly<KubeObject>): KubeObject {
    return isSecret(of) ? (JSON.parse(withDigests(JSON.stringify(object), this.#digestKey)) as KubeObject) : object;
  }

  /** Returns the state that a change left; the last one of an object that was deleted. */
  state(entry: Entry): KubeObject | undefined {
    return stateOf(entry, entry.state());
  }

  /** Returns the same without the owners of its fields. */
  stateWithoutOwners(entry: Entry): KubeObject | undefined {
    return stateOf(entry, entry.stateWithoutOwners());
  }

  #withStates(record: ChangeRecord, entry: Entry, objects: boolean): ChangeRecord {
    const after = entry.state();
    const older = entry.before(record);
    const before = older?.state() ?? '';
    const isComparable = record.type === 'updated' && before !== '' && after !== '';
    const {changes, omitted} = isComparable ? differencesOf(JSON.parse(before), JSON.parse(after)) : {changes: undefined, omitted: 0};
    const last = record.type === 'deleted' ? older : entry;
    const state = objects && last ? this.state(last) : undefined;
    return {
      ...record,
      ...(changes ? {changes} : {}),
      ...(omitted > 0 ? {changesOmitted: omitted} : {}),
      ...(state === undefined ? {} : {state}),
    };
  }

  #append(text: string): void {
    if (!this.#takesRecords || text.length > this.log.maxBytes / 32) return;
    this.log.room(mostBytes(text.length, 0)).appendJson(this.#clock.now(), text);
    this.#appended();
  }

  /** Returns what is kept of a state: nothing of one that is too large, digests of a secret. */
  #kept(object: RecordedObject, state: Uint8Array | undefined, from: number): KeptState | undefined {
    if (!state || state.length > this.log.maxBytes / 8) return undefined;
    if (isSecret(object)) {
      const json = Buffer.from(state.buffer, state.byteOffset + from, state.length - from).toString();
      return {bytes: Buffer.from(withDigests(json, this.#digestKey)), jsonFrom: 0, isElsewhere: false};
    }
    // A view of the JSON alone would cost more than these bytes.
    if (from > maxJsonFrom) return {bytes: state.subarray(from), jsonFrom: 0, isElsewhere: false};
    // Memory that a state has for itself is counted, and kept without a copy. Of what is shared more might be kept.
    const isElsewhere = !this.#folder && state.length >= leastElsewhere && state.length === state.buffer.byteLength;
    return {bytes: state, jsonFrom: from, isElsewhere};
  }

  get #takesRecords(): boolean {
    const takes = this.#folder?.takesRecords ?? true;
    if (!takes) this.#left++;
    return takes;
  }

  #appended(): void {
    this.#folder?.appended();
    if (this.#listeners.size > 0) for (const listener of this.#listeners) listener();
  }
}

const stateOf = ({revision}: Entry, json: string): KubeObject | undefined => {
  if (json === '') return undefined;
  const object = JSON.parse(json) as KubeObject;
  (object.metadata ??= {}).resourceVersion = String(revision);
  return object;
};
