// The port of the flight recorder: what the API server, controllers, the scheduler and operators report to it. Without
// a recorder nothing is reported, and nothing is done for reports. Reports never fail.

/** An object that a record names. Absent parts are unknown, or do not apply. */
export interface RecordedObject {
  /** The group on the wire; empty for the core group. */
  readonly group: string;
  /** The plural name. */
  readonly resource: string;
  /** Absent for objects without a namespace. */
  readonly namespace?: string | undefined;
  /** Absent while the server has not chosen it. */
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
}

/** An object was created, changed or removed in the store. */
export interface ChangeReport {
  readonly kind: 'change';
  readonly type: 'created' | 'updated' | 'deleted';
  readonly object: RecordedObject;
  /** What was asked for: the verb of the request, with `apply` for a server-side apply. */
  readonly verb: string;
  readonly subresource?: string | undefined;
  /** The resource version after the change. */
  readonly revision: number;
  /** The resource version that was changed; absent for a creation. */
  readonly previous?: number | undefined;
  readonly user: string;
  readonly manager?: string | undefined;
  /** The audit id of the request; absent for the server's own writes. */
  readonly request?: string | undefined;
}

/** The states of an object before and after a change. */
export interface ChangeStates {
  /** As JSON without resourceVersion from byte `jsonFrom` on. */
  readonly before?: Uint8Array | undefined;
  readonly after?: Uint8Array | undefined;
  readonly jsonFrom: number;
}

/** What put a key into the queue of a controller. */
export type ReconcileCause =
  | {
      readonly type: 'added' | 'updated' | 'deleted' | 'resync';
      /** The object whose event it was; often another one than that of the key. */
      readonly object: RecordedObject;
      /** Its resource version. */
      readonly revision: string;
    }
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
export interface ReconcileReport {
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
  readonly durationMs: number;
}

/** A plugin of admission changed, refused or warned about a request. */
export interface AdmissionReport {
  readonly object: RecordedObject;
  readonly subresource?: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  /** The plugin, such as `ResourceQuota` or `ValidatingAdmissionWebhook`. */
  readonly plugin: string;
  readonly phase: 'admit' | 'validate';
  readonly decision: 'changed' | 'refused' | 'warned';
  /** The webhook or the policy that changed the object. */
  readonly by?: string;
  /** What a built-in plugin changed, such as `spec.tolerations`. */
  readonly fields?: readonly string[];
  /** The message of the refusal or the warning; absent for secrets. Those of webhooks and policies name them. */
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly user: string;
  /** The audit id of the request. */
  readonly request?: string;
}

/** The scheduler decided on a pod. */
export interface SchedulingReport {
  readonly object: RecordedObject;
  readonly scheduler: string;
  readonly decision: 'node' | 'preempt' | 'none';
  /** The chosen or nominated node. */
  readonly node?: string;
  /** The sentence of the Event, such as `0/3 nodes are available: …`. */
  readonly reason?: string;
  /** The feasible nodes with their scores, best first; without scores if there was only one. */
  readonly scores?: readonly {readonly node: string; readonly score?: number}[];
  /** Nodes that were rejected, by reason. */
  readonly rejected?: readonly {readonly reason: string; readonly nodes: number; readonly examples: readonly string[]}[];
  readonly durationMs: number;
}

/** Where parts of a control plane, and operators, report what they do. */
export interface FlightRecorder {
  /** Called with each write: it has to be cheap. */
  change(report: ChangeReport, states: ChangeStates): void;
  reconcile(report: ReconcileReport): void;
  admission(report: AdmissionReport): void;
  scheduling(report: SchedulingReport): void;
}
