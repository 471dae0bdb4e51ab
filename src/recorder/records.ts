// The records of the flight recorder as its read API returns them (docs/recorder.md): what is reported, with a position
// and a time. Groups are those on the wire; times are RFC 3339 by the clock of the plane.

import type {AdmissionReport, ChangeReport, ReconcileReport, SchedulingReport} from '#src/observe/flight-recorder.js';

interface RecordMeta<K extends string> {
  readonly kind: K;
  /** The position in the recorder, which grows. The cursor of pages and streams. */
  readonly seq: number;
  readonly time: string;
}

/** A field that a change set, changed or removed. */
export interface FieldChange {
  /** Such as `spec.replicas`, `metadata.labels["a.b/c"]` or `spec.containers[0].image`. */
  readonly path: string;
  /** Absent if the field was added. Long values are cut, and end in `…`. */
  readonly before?: unknown;
  /** Absent if the field was removed. */
  readonly after?: unknown;
}

/** An object was created, changed or removed in the store. */
export interface ChangeRecord extends RecordMeta<'change'>, Omit<ChangeReport, 'kind' | 'revision' | 'previous'> {
  /** The resource version after the change. */
  readonly revision: string;
  /** The resource version that was changed; absent for a creation. */
  readonly previous?: string | undefined;
  /**
   * The fields of an update that differ, without managed fields and resource version. Absent for creations and
   * deletions, and where the state before is no longer kept.
   */
  readonly changes?: readonly FieldChange[];
  /** How many more fields differ than `changes` lists. */
  readonly changesOmitted?: number;
  /** The object after the change, or the last state of a deleted one; only with `objects=true`. */
  readonly state?: unknown;
}

/** A controller reconciled a key. The time is the end of it. */
export interface ReconcileRecord extends RecordMeta<'reconcile'>, ReconcileReport {}

/** A plugin of admission changed, refused or warned about a request. Of those that only passed there is no record. */
export interface AdmissionRecord extends RecordMeta<'admission'>, AdmissionReport {}

/** The scheduler decided on a pod. */
export interface SchedulingRecord extends RecordMeta<'scheduling'>, SchedulingReport {}

export type FlightRecord = ChangeRecord | ReconcileRecord | AdmissionRecord | SchedulingRecord;

/** The answer of `/recorder/v1`. */
export interface RecorderInfo {
  readonly version: 'v1';
  /** The bound and what is used of it. */
  readonly maxBytes: number;
  readonly bytes: number;
  /** Whether records are kept over restarts. */
  readonly isOnDisk: boolean;
  /** The first and the last record that are kept; absent while there is none. */
  readonly first?: {readonly seq: number; readonly time: string};
  readonly last?: {readonly seq: number; readonly time: string};
}

/** The answer of `/recorder/v1/records`. */
export interface RecordPage {
  readonly records: readonly FlightRecord[];
  /**
   * The query parameters of the next page, after the `?`; absent on the last page. A page may be empty and have one.
   */
  readonly next?: string;
}

/** The answer of `/recorder/v1/objects`. */
export interface ObjectsAt {
  /** Absent with `table=true`. */
  readonly objects?: readonly unknown[];
  /** The server's table of them, with `table=true`. */
  readonly table?: unknown;
  /**
   * The time of the first record that is kept. Of moments before it objects are shown in the first state that is known,
   * and those that were deleted before are not.
   */
  readonly since?: string;
  /** The query parameters of the next page, after the `?`; absent on the last page. */
  readonly next?: string;
}
