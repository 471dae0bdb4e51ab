// The records of the flight recorder as its read API returns them (docs/recorder.md). Groups are those on the wire;
// times are RFC 3339 by the clock of the plane.

/** An object that a record names. Absent parts are unknown, or do not apply. */
export interface RecordedObject {
  /** Empty for the core group. */
  readonly group: string;
  /** The plural name. */
  readonly resource: string;
  /** Absent for objects without a namespace. */
  readonly namespace?: string;
  /** Absent while the server has not chosen it. */
  readonly name?: string;
  readonly uid?: string;
}

interface RecordMeta {
  /** The position in the recorder, which grows. The cursor of pages and streams. */
  readonly seq: number;
  readonly time: string;
}

/** A field that a change set, changed or removed. */
export interface FieldChange {
  /** Such as `spec.replicas`, `metadata.labels["app"]` or `spec.containers[0].image`. */
  readonly path: string;
  /** Absent if the field was added. Long values are cut, and end in `…`. */
  readonly before?: unknown;
  /** Absent if the field was removed. */
  readonly after?: unknown;
}

/** An object was created, changed or removed in the store. */
export interface ChangeRecord extends RecordMeta {
  readonly kind: 'change';
  readonly type: 'created' | 'updated' | 'deleted';
  readonly object: RecordedObject;
  /** What was asked for: the verb of the request, with `apply` for a server-side apply. */
  readonly verb: string;
  readonly subresource?: string;
  /** The resource version after the change. */
  readonly revision: string;
  /** The resource version that was changed; absent for a creation. */
  readonly previous?: string;
  readonly user: string;
  readonly manager?: string;
  /** The audit id of the request; absent for the server's own writes. */
  readonly request?: string;
  /** The fields that differ, without managed fields and resource version; absent for a creation and a deletion. */
  readonly changes?: readonly FieldChange[];
  /** How many more fields differ than `changes` lists. */
  readonly changesOmitted?: number;
  /** The object after the change, or the last state of a deleted one; only with `objects=true`. */
  readonly state?: unknown;
}

/** What put a key into the queue of a controller. */
export type ReconcileCause =
  | {
      readonly type: 'added' | 'updated' | 'deleted';
      /** The object whose event it was; often another one than that of the key. */
      readonly object: RecordedObject;
      /** Its resource version. */
      readonly revision: string;
    }
  | {readonly type: 'resync'; readonly object: RecordedObject; readonly revision: string}
  /** The last reconcile of the key failed for the nth time in a row. */
  | {readonly type: 'retry'; readonly attempt: number}
  /** The last reconcile of the key asked for it. */
  | {readonly type: 'requeue'; readonly afterMs: number}
  /** The period of a watch was over. */
  | {readonly type: 'period'}
  /** The controller queued the key by itself. */
  | {readonly type: 'enqueued'; readonly afterMs?: number};

/** A write that a reconcile made, or tried. */
export interface ReconcileWrite {
  readonly verb: 'create' | 'update' | 'patch' | 'apply' | 'delete' | 'deletecollection';
  readonly object: RecordedObject;
  readonly subresource?: string;
  /** The resource version in the response. With it, the change is found. */
  readonly revision?: string;
  /** The message of the refusal. */
  readonly error?: string;
}

/** A controller reconciled a key. */
export interface ReconcileRecord extends RecordMeta {
  readonly kind: 'reconcile';
  readonly controller: string;
  /** The key, `namespace/name` or `name`. */
  readonly key: string;
  /** The object of the key, if the controller has a primary kind. */
  readonly object?: RecordedObject;
  /** Oldest first. */
  readonly causes: readonly ReconcileCause[];
  /** How many more causes there were. */
  readonly causesOmitted?: number;
  /** The objects that it looked for in the caches and that were not there. */
  readonly missed: readonly RecordedObject[];
  readonly writes: readonly ReconcileWrite[];
  /** How many more writes there were. */
  readonly writesOmitted?: number;
  readonly result: 'settled' | 'requeued' | 'failed' | 'gave-up';
  /** With the result `requeued`. */
  readonly requeueAfterMs?: number;
  /** The message of the error, with the results `failed` and `gave-up`. */
  readonly error?: string;
  /** `time` is its end. */
  readonly durationMs: number;
}

/** A plugin of admission changed, refused or warned about a request. Of those that only passed there is no record. */
export interface AdmissionRecord extends RecordMeta {
  readonly kind: 'admission';
  readonly object: RecordedObject;
  readonly subresource?: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  /** The plugin, such as `ResourceQuota` or `ValidatingAdmissionWebhook`. */
  readonly plugin: string;
  readonly phase: 'admit' | 'validate';
  readonly decision: 'changed' | 'refused' | 'warned';
  /** The message of the refusal or the warning. Those of webhooks and policies name them. */
  readonly reason?: string;
  /** The fields that the plugin changed. */
  readonly paths?: readonly string[];
  readonly user: string;
  /** The audit id of the request. */
  readonly request?: string;
}

/** The scheduler decided on a pod. */
export interface SchedulingRecord extends RecordMeta {
  readonly kind: 'scheduling';
  readonly object: RecordedObject;
  readonly scheduler: string;
  readonly decision: 'node' | 'preempt' | 'none';
  /** The chosen or nominated node. */
  readonly node?: string;
  /** The sentence of the Event, such as `0/3 nodes are available: …`. */
  readonly reason?: string;
  /** The feasible nodes with their scores, best first; without scores if there was only one. */
  readonly scores?: readonly {readonly node: string; readonly score?: number}[];
  /** Nodes that were rejected, by reason: a node has the first reason found. */
  readonly rejected?: readonly {
    readonly reason: string;
    readonly plugin?: string;
    readonly nodes: number;
    readonly examples?: readonly string[];
  }[];
  readonly durationMs: number;
}

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
  /** The query parameters of the next page, after the `?`; absent on the last page. */
  readonly next?: string;
}

/** The answer of `/recorder/v1/objects`. */
export interface ObjectsAt {
  readonly objects: readonly unknown[];
  /** Since when all changes are known. What did not change since then is taken from the store. */
  readonly since?: string;
  /** The query parameters of the next page, after the `?`; absent on the last page. */
  readonly next?: string;
}
