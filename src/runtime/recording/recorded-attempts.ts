// The reconciles of one controller as the flight recorder gets them: what queued each key, what was looked for in vain
// and written meanwhile, and how it ended.

import type {Change} from '#informers/change.js';
import {isResync} from '#informers/change.js';
import {keyOf, keyText, parseKey, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {Clock} from '#src/base/clock.js';
import type {FlightRecorder, ReconcileCause, ReconcileReport, ReconcileWrite, RecordedObject} from '#src/observe/flight-recorder.js';

/** What queues a key: a change of an object, which is described when the key is reconciled, or something else. */
export type Cause = {readonly change: Change; readonly kind: Kind} | Exclude<ReconcileCause, {readonly object: RecordedObject}>;

/** The most causes of one key, and the most misses and writes of one reconcile, that are described. */
const maxCauses = 8;
const maxMissed = 20;
const maxWrites = 50;
/** The causes of keys that wait. A key whose causes are forgotten has none. */
const bound = new CacheBound('reconcile_causes', 8 << 20);
/** Longer errors are cut. */
const maxErrorLength = 1000;

/** A reconcile in progress. */
interface Attempt {
  readonly key: ObjectKey;
  readonly causes: Causes;
  readonly missed: Map<string, RecordedObject>;
  readonly writes: ReconcileWrite[];
  writesOmitted: number;
  readonly startedAt: number;
}

class Causes {
  readonly list: Cause[] = [];
  omitted = 0;

  add(cause: Cause): void {
    if (this.list.length < maxCauses) this.list.push(cause);
    else this.omitted++;
  }
}

type AttemptEnd = Pick<ReconcileReport, 'result' | 'requeueAfterMs' | 'error'>;

export interface AttemptsParts {
  readonly recorder: FlightRecorder;
  readonly controller: string;
  /** The kind whose keys are reconciled, if there is one. */
  readonly kind: Kind | undefined;
  readonly naming: Naming;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** What one loop of a controller tells of its keys. */
export interface LoopRecording {
  queued(text: string, cause: Cause, isDelayed: boolean): void;
  run<T>(text: string, act: () => T): T;
  ended(text: string, end: AttemptEnd): void;
}

/** Follows the reconciles of one controller, of all its loops. */
export class RecordedAttempts {
  readonly #parts: AttemptsParts;
  /** By loop and key: of keys that are queued, and of keys that will be after a time. */
  readonly #queued = new Lru<string, Causes>(bound, {bytesOf: () => 400});
  readonly #delayed = new Lru<string, Cause>(bound, {bytesOf: () => 200});
  readonly #running = new Map<string, Attempt>();
  /** The reconcile whose code runs in this moment, as far as that is known. */
  #current: Attempt | undefined;
  #heard: Cause | undefined;

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
  }

  /** Returns what a loop reports to; keys of several loops are told apart. */
  loop(name: string): LoopRecording {
    const id = (text: string) => `${name} ${text}`;
    return {
      queued: (text, cause, isDelayed) => this.#noteQueued(id(text), cause, isDelayed),
      run: (text, act) => this.#run(id(text), text, act),
      ended: (text, end) => this.#ended(id(text), end),
    };
  }

  /** Notes what queued a key, at once or after a time. */
  #noteQueued(id: string, cause: Cause, isDelayed: boolean): void {
    if (isDelayed) return void this.#delayed.set(id, cause);
    let causes = this.#queued.peek(id);
    if (!causes) this.#queued.set(id, (causes = new Causes()));
    causes.add(cause);
  }

  /**
   * Begins the reconcile of a key, and calls `act`, whose reads and writes until it waits are those of the reconcile.
   */
  #run<T>(id: string, text: string, act: () => T): T {
    const queued = this.#queued.peek(id);
    const causes = queued ?? new Causes();
    if (queued) this.#queued.delete(id);
    else {
      const delayed = this.#delayed.peek(id);
      this.#delayed.delete(id);
      if (delayed) causes.add(delayed);
    }
    const key = parseKey(text);
    const attempt = {key, causes, missed: new Map(), writes: [], writesOmitted: 0, startedAt: this.#parts.clock.monotonic()};
    this.#running.set(id, attempt);
    return this.#within(attempt, act);
  }

  /** Reports a reconcile, which ended. */
  #ended(id: string, {error, ...end}: AttemptEnd): void {
    const attempt = this.#running.get(id);
    if (!attempt) return;
    this.#running.delete(id);
    const {recorder, controller, kind, clock} = this.#parts;
    const {key, causes, missed, writes, writesOmitted, startedAt} = attempt;
    recorder.reconcile({
      controller,
      key: keyText(key),
      ...(kind ? {object: this.#named(kind, key)} : {}),
      causes: causes.list.map(cause => this.#described(cause)),
      ...(causes.omitted > 0 ? {causesOmitted: causes.omitted} : {}),
      missed: [...missed.values()],
      writes,
      ...(writesOmitted > 0 ? {writesOmitted} : {}),
      ...end,
      ...(error === undefined ? {} : {error: error.slice(0, maxErrorLength)}),
      durationMs: Math.round((clock.monotonic() - startedAt) * 1000) / 1000,
    });
  }

  /** Calls `act`, whose writes are those of the reconcile of a key, whichever is running beside it. */
  as<T>(key: ObjectKey, act: () => T): T {
    const text = keyText(key);
    const attempt = [...this.#running.values()].find(each => keyText(each.key) === text);
    return attempt ? this.#within(attempt, act) : act();
  }

  /** The change that a listener of the controller is told of in this moment. */
  get heard(): Cause | undefined {
    return this.#heard;
  }

  /** Tells a listener of a change, because of which it may queue keys. */
  hear(change: Change, kind: Kind, tell: () => void): void {
    this.#heard = {change, kind};
    try {
      tell();
    } finally {
      this.#heard = undefined;
    }
  }

  /** Notes that an object was looked for in a cache and was not there. */
  missed(kind: Kind, key: ObjectKey): void {
    const attempt = this.#current ?? this.#only();
    if (!attempt || attempt.missed.size >= maxMissed) return;
    attempt.missed.set(`${kind.group}/${kind.plural}/${keyText(key)}`, this.#named(kind, key));
  }

  /**
   * Returns the function that notes the result of a write, which is about to be made; undefined if nobody knows whose.
   */
  writing(
    kind: Kind,
    key: ObjectKey,
    object?: Frozen<KubeObject>,
  ): ((write: Omit<ReconcileWrite, 'object'>, result?: KubeObject) => void) | undefined {
    const attempt = this.#current ?? this.#only() ?? this.#ownerOf(kind, key, object);
    if (!attempt) return undefined;
    return (write, {metadata: {name = key.name, uid} = {}} = {}) => {
      if (attempt.writes.length >= maxWrites) return void attempt.writesOmitted++;
      const {error} = write;
      attempt.writes.push({
        ...write,
        object: {...this.#named(kind, {...key, name}), ...(uid ? {uid} : {})},
        ...(error === undefined ? {} : {error: error.slice(0, maxErrorLength)}),
      });
    };
  }

  #within<T>(attempt: Attempt, act: () => T): T {
    const outer = this.#current;
    this.#current = attempt;
    try {
      return act();
    } finally {
      this.#current = outer;
    }
  }

  #only(): Attempt | undefined {
    return this.#running.size === 1 ? this.#running.values().next().value : undefined;
  }

  /** Of several reconciles, that of the object which is written, or of its owner, or the only one of its namespace. */
  #ownerOf(kind: Kind, key: ObjectKey, object: Frozen<KubeObject> | undefined): Attempt | undefined {
    const all = [...this.#running.values()];
    const owners = object?.metadata?.ownerReferences?.map(({name}) => name) ?? [];
    const isOwn = kind.plural === this.#parts.kind?.plural;
    const alike = all.filter(each => each.key.namespace === key.namespace);
    return (
      (isOwn ? alike.find(each => each.key.name === key.name) : undefined) ??
      alike.find(each => owners.includes(each.key.name)) ??
      (alike.length === 1 ? alike[0] : undefined)
    );
  }

  #described(cause: Cause): ReconcileCause {
    if (!('change' in cause)) return cause;
    const {change, kind} = cause;
    const {uid, resourceVersion = ''} = change.object.metadata ?? {};
    const object = {...this.#named(kind, keyOf(change.object)), ...(uid ? {uid} : {})};
    return {type: isResync(change) ? 'resync' : change.type, object, revision: resourceVersion};
  }

  #named({group, plural}: Kind, {namespace, name}: ObjectKey): RecordedObject {
    return {group: this.#parts.naming.group(group), resource: plural, ...(namespace ? {namespace} : {}), ...(name ? {name} : {})};
  }
}
