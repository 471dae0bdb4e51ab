// A reconcile reads its own writes: the next one of the same key begins when the caches of its controller show what the
// last one wrote, or after a time. Keys that wait are not held by a worker.

import type {Change} from '#informers/change.js';
import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import {isOlderVersion} from '#src/api/resource-version.js';
import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import {Lru} from '#src/base/lru.js';
import type {Meter} from '#src/base/meter.js';

/** What is remembered of writes: some 30,000 objects. A key whose writes are forgotten does not wait. */
const bound = new CacheBound('own_writes', 8 * 1024 * 1024);

/** A part of the caches of a controller. */
export interface CachedPart {
  readonly kind: Kind;
  /** The cluster, if it is another one than that of the manager. */
  readonly cluster: string | undefined;
  /** Returns whether an object is in the part. */
  holds(object: Frozen<KubeObject>): boolean;
  get(key: ObjectKey): Frozen<KubeObject> | undefined;
}

export interface OwnWritesParts {
  /** The name of the controller, in metrics. */
  readonly name: string;
  readonly parts: readonly CachedPart[];
  /** How long a key waits at most. */
  readonly longestMs: number;
  readonly clock: Clock;
  readonly meter: Meter;
  /** Ends all waits. */
  readonly signal: AbortSignal;
}

/** A write whose result a part of the caches does not show yet. */
interface Unseen {
  readonly part: CachedPart;
  /** The state that was written; undefined while the request is in progress. */
  written: {readonly uid: string; readonly version: string; readonly isGone: boolean} | undefined;
  /** What the cache reported since the request was made. */
  deleted: string | undefined;
}

/** The writes of a key, by part and object. */
interface KeyWrites {
  readonly unseen: Map<string, Unseen>;
  wait: {readonly promise: Promise<void>; readonly end: (isTimeout: boolean) => void} | undefined;
}

/** A write in progress. Exactly one of its functions is called. */
export interface WriteInProgress {
  done(result: unknown): void;
  failed(): void;
}

export class OwnWrites {
  readonly #parts: OwnWritesParts;
  readonly #byKey = new Lru<string, KeyWrites>(bound, {
    bytesOf: ({unseen}) => 200 + 200 * unseen.size,
    onEvict: writes => writes.wait?.end(false),
  });
  readonly #keysOf = new Lru<string, Set<string>>(bound, {bytesOf: keys => 60 * keys.size});
  readonly #waits: {observe(seconds: number): void};
  readonly #timeouts: {add(): void};

  constructor(parts: OwnWritesParts) {
    this.#parts = parts;
    const {name, meter, signal} = parts;
    const labels = ['controller'];
    const own = {controller: name};
    this.#waits = meter
      .histogram({
        name: 'plat_operator_stale_cache_wait_seconds',
        help: 'How long keys waited until the caches of their controller showed what their last reconcile wrote.',
        labels,
        buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10],
      })
      .at(own);
    const timeouts = meter.counter({
      name: 'plat_operator_stale_cache_timeouts_total',
      help: 'Number of keys that were reconciled though the caches did not show what their last reconcile wrote.',
      labels,
    });
    timeouts.add(own, 0);
    this.#timeouts = timeouts.at(own);
    signal.addEventListener('abort', () => this.#endAll(), {once: true});
  }

  /** Remembers that the reconcile of `key` writes an object, whose name is unknown if the server chooses it. */
  begin(key: ObjectKey, {kind, cluster}: Pick<CachedPart, 'kind' | 'cluster'>, object: ObjectKey | undefined): WriteInProgress {
    const isOf = (part: CachedPart) => part.cluster === cluster && part.kind.group === kind.group && part.kind.plural === kind.plural;
    const parts = this.#parts.parts.filter(isOf);
    if (parts.length === 0 || this.#parts.longestMs <= 0) return ignored;
    const begun = object ? parts.map(part => this.#remember(key, part, object)) : [];
    return {
      failed: () => begun.forEach(({id}) => this.#seen(keyText(key), id)),
      done: result => {
        const {metadata, kind: answered} = (result ?? {}) as KubeObject;
        const isGone = answered === 'Status';
        const uid = isGone ? ((result as {details?: {uid?: string}}).details?.uid ?? '') : (metadata?.uid ?? '');
        const written = {uid, version: metadata?.resourceVersion ?? '', isGone};
        const named = object ?? {namespace: metadata?.namespace ?? '', name: metadata?.name ?? ''};
        for (const {id, unseen} of begun.length > 0 ? begun : parts.map(part => this.#remember(key, part, named))) {
          unseen.written = written;
          const isElsewhere = !isGone && !unseen.part.holds(result as Frozen<KubeObject>);
          if (uid === '' || isElsewhere || isShown(unseen, unseen.part.get(named))) this.#seen(keyText(key), id);
        }
      },
    };
  }

  /** To be called with each change of a part, before the keys of the change are queued. */
  heard(part: CachedPart, change: Change): void {
    if (this.#keysOf.size === 0) return;
    const {namespace = '', name = '', uid = ''} = change.object.metadata ?? {};
    const id = this.#idOf(part, {namespace, name});
    for (const key of this.#keysOf.peek(id) ?? []) {
      const unseen = this.#byKey.peek(key)?.unseen.get(id);
      if (!unseen) continue;
      if (change.type === 'deleted') unseen.deleted = uid;
      if (isShown(unseen, change.type === 'deleted' ? undefined : change.object)) this.#seen(key, id);
    }
  }

  /** To be called with objects of the first list of a part. */
  heardListed(part: CachedPart, objects: readonly Frozen<KubeObject>[]): void {
    if (this.#keysOf.size === 0) return;
    for (const object of objects) this.heard(part, {type: 'added', object, initial: true});
  }

  /**
   * Resolves once the caches show what was written for the key, or the time is over; undefined if they show it now.
   * Waits of one key share their time.
   */
  shown(key: ObjectKey): Promise<void> | undefined {
    const text = keyText(key);
    const writes = this.#byKey.peek(text);
    if (!writes || this.#parts.signal.aborted) return undefined;
    writes.wait ??= this.#wait(text);
    return writes.wait.promise;
  }

  #wait(text: string): NonNullable<KeyWrites['wait']> {
    const {clock, longestMs} = this.#parts;
    const started = clock.monotonic();
    let resolve = () => {};
    const promise = new Promise<void>(resolved => (resolve = resolved));
    const timer = clock.schedule(longestMs, () => end(true));
    const end = (isTimeout: boolean) => {
      timer[Symbol.dispose]();
      this.#waits.observe((clock.monotonic() - started) / 1000);
      if (isTimeout) {
        this.#timeouts.add();
        this.#forget(text);
      }
      resolve();
    };
    return {promise, end};
  }

  #remember(key: ObjectKey, part: CachedPart, object: ObjectKey): {readonly id: string; readonly unseen: Unseen} {
    const text = keyText(key);
    const id = this.#idOf(part, object);
    const writes = this.#byKey.peek(text) ?? {unseen: new Map<string, Unseen>(), wait: undefined};
    const unseen: Unseen = {part, written: undefined, deleted: undefined};
    writes.unseen.set(id, unseen);
    this.#byKey.set(text, writes);
    this.#keysOf.set(id, new Set([...(this.#keysOf.peek(id) ?? []), text]));
    return {id, unseen};
  }

  #seen(text: string, id: string): void {
    const writes = this.#byKey.peek(text);
    writes?.unseen.delete(id);
    this.#unlink(text, id);
    if (!writes || writes.unseen.size > 0) return;
    this.#byKey.delete(text);
    writes.wait?.end(false);
  }

  #forget(text: string): void {
    const writes = this.#byKey.peek(text);
    this.#byKey.delete(text);
    for (const id of writes?.unseen.keys() ?? []) this.#unlink(text, id);
  }

  #unlink(text: string, id: string): void {
    const keys = this.#keysOf.peek(id);
    keys?.delete(text);
    if (keys?.size === 0) this.#keysOf.delete(id);
  }

  #endAll(): void {
    for (const {wait} of this.#byKey.values()) wait?.end(false);
    this.#byKey.clear();
    this.#keysOf.clear();
  }

  #idOf(part: CachedPart, object: ObjectKey): string {
    return `${this.#parts.parts.indexOf(part)} ${keyText(object)}`;
  }
}

const ignored: WriteInProgress = {done: () => {}, failed: () => {}};

/** Returns whether a cached object, or that there is none, is what was written or newer. */
const isShown = ({written, deleted}: Unseen, cached: Frozen<KubeObject> | undefined): boolean => {
  if (!written) return false;
  const {uid, version, isGone} = written;
  if (!cached) return isGone || deleted === uid;
  const {uid: found, resourceVersion = ''} = cached.metadata ?? {};
  // Another object of the same name is a newer one, unless it is the one before.
  if (found !== uid) return isGone ? deleted === uid : !isOlderVersion(resourceVersion, version);
  return !isGone && !isOlderVersion(resourceVersion, version);
};
