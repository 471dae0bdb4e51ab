// A user's controller: its declaration, and the conversion to a controller of the runtime, which also runs the built-in
// ones.

import type {Change} from '#informers/change.js';
import type {Source as InformerSource} from '#informers/selection.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import type {Log} from '#src/base/log.js';
import {
  defineController as defineRuntimeController,
  every,
  settled,
  type Attempt,
  type KeyedContext,
  type QueueSettings,
} from '#src/runtime/controller.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {isName, keepDeclaration} from './declarations.js';
import {cachesOf, indexesOf, type BuiltIndex, type Caches} from './caches.js';
import type {Client} from './client/client.js';
import type {AnyObject, Stored} from './client/objects.js';
import {runtimeSource, type EventMapping, type EventSource} from './events.js';
import type {Predicate} from './triggers/predicates.js';
import {msOf, type Duration, type Result} from './result.js';
import {register} from './runtime-of.js';
import {partsOf, readerOf, type ManagerScope} from './scope.js';
import {clusterOf, distinct, kindOf, sameKind, type Index, type Source} from './sources.js';
import {cachedParts} from './cached-parts.js';
import {ReconcileClients} from './reconcile-clients.js';
import {OwnWrites} from './own-writes.js';
import {lowPriorityRequests, registerWatches} from './triggers.js';
import type {Watch} from './watches.js';

// Indexes of any objects.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyIndex = Index<any>;

// By default any source, as that of `Caches`.
// oxlint-disable-next-line typescript/no-explicit-any
type AnySource = any;

/** The arguments of a reconcile. `Declared` are the sources that its caches hold. */
export interface ReconcileContext<T extends KubeObject = KubeObject, Declared extends Source = AnySource> {
  readonly key: ObjectKey;
  /** The cached object with that key; undefined if it does not exist. */
  readonly object: Stored<T> | undefined;
  readonly caches: Caches<Declared>;
  /** Writes as the controller; objects of kinds that it `owns` get an owner reference. */
  readonly client: Client;
  /** Records Events about objects. */
  readonly events: EventRecorder;
  readonly log: Log;
  readonly clock: Clock;
  /** The number of consecutive failures of this key. */
  readonly retries: number;
  /** Aborts when the controller is to stop, or the reconcile has reached its time limit. Requests end with it. */
  readonly signal: AbortSignal;
}

/** The retries of failed keys. */
export interface RetryOptions {
  /** The delay after the first failure; it doubles with each further one. Default 5 ms. */
  readonly delay?: Duration;
  /** The maximum delay. Default 1000 s. */
  readonly longest?: Duration;
  /** The maximum number of retries; then a key waits for the next change. Default unlimited. */
  readonly limit?: number;
  /**
   * The rate limit of all keys together. Default: 10 a second with a burst of 100; with `none` only the delay of each
   * key applies.
   */
  readonly rateLimit?: RateLimit | 'none';
}

/** A rate limit of retries. */
export interface RateLimit {
  readonly perSecond: number;
  /** The burst. */
  readonly burst: number;
}

/**
 * The declaration of a controller. Everything but name, kind and reconcile function has a default. The type parameters
 * are inferred: the objects, and the sources of `for`, `owns`, `watches` and `reads`.
 */
export interface ControllerDefinition<
  T extends KubeObject = KubeObject,
  For extends Source = AnySource,
  Owned extends Source = AnySource,
  Watched extends Source = AnySource,
  Read extends Source = AnySource,
> {
  /** The name in metrics, logs and Events, and the field manager of writes. */
  readonly name: string;
  /** The reconciled kind, or a selection of its objects. */
  readonly for: Source<T> & For;
  /** The predicate of changes that queue their key. Default: all changes. */
  readonly when?: Predicate<T>;
  /** Kinds of owned objects: they get an owner reference, and a change of one queues its owner. */
  readonly owns?: readonly Owned[];
  /** Other kinds whose changes queue keys. */
  readonly watches?: readonly Watch<Watched>[];
  /** Kinds that are cached only for reading. */
  readonly reads?: readonly Read[];
  /** Event sources outside of the cluster that queue keys: `fromEvents`. */
  readonly sources?: readonly EventSource[];
  /** Indexes for `caches.by`: `index`. */
  readonly indexes?: readonly AnyIndex[];
  /** The number of keys reconciled concurrently; a key is never reconciled concurrently with itself. Default 1. */
  readonly concurrency?: number;
  readonly retry?: RetryOptions;
  /**
   * The time limit of a reconcile: then its signal aborts, and with it the requests of its client. What it throws is
   * retried. Default: that of the manager, which has none by default.
   */
  readonly reconcileTimeout?: Duration;
  /**
   * How long a key waits at most until the caches show what its last reconcile wrote; with 0 it does not. Writes of
   * kinds that the controller does not cache are not waited for. Default 2 s.
   */
  readonly ownWritesWait?: Duration;
  /** The period of reconciling all objects even without changes. Default: never. */
  readonly every?: Duration;
  /**
   * With `finalize`: the finalizer that is added to each object before its first reconcile, such as
   * `backups.example.com/storage`. Deleted objects are finalized instead of reconciled, and then the finalizer is
   * removed.
   */
  readonly finalizer?: string;
  /**
   * Cleans up before an object is deleted. Returns `againAfter` to be called again; otherwise the finalizer is removed.
   */
  finalize?(context: ReconcileContext<T, For | Owned | Watched | Read> & {readonly object: Stored<T>}): Promise<Result | void>;
  /**
   * Brings the objects of one key to the desired state, whatever happened before. Returns `againAfter` to be called
   * again later. A thrown error means retry with backoff; a thrown `Terminal` means no retry before the next change.
   */
  reconcile(context: ReconcileContext<T, For | Owned | Watched | Read>): Promise<Result | void>;
}

/** A declared controller, to be run by a manager. */
export interface OperatorController {
  readonly name: string;
  /** The sources that it caches. */
  readonly sources: readonly Source[];
}

/** The sources of a declaration without any; all if the type of its objects alone is given. */
type NoneOf<For> = 0 extends 1 & For ? AnySource : never;

/**
 * Declares a controller. Without type arguments the compiler knows which kinds its caches hold; with the type of the
 * objects alone it does not. Throws a `TypeError` for an invalid declaration.
 */
export const defineController = <
  T extends KubeObject,
  For extends Source = AnySource,
  Owned extends Source = NoneOf<For>,
  Watched extends Source = NoneOf<For>,
  Read extends Source = NoneOf<For>,
>(
  declaration: ControllerDefinition<T, For, Owned, Watched, Read>,
): OperatorController => {
  const definition = declaration as unknown as ControllerDefinition<T>;
  const {name, watches = [], owns = [], reads = [], concurrency = 1, finalizer, finalize} = definition;
  if (!isName(name)) throw new TypeError(`controller name "${name}": use lower case letters, digits, - and .`);
  if (!Number.isInteger(concurrency) || concurrency < 1) throw new TypeError(`controller ${name}: concurrency must be a positive integer`);
  if ((finalizer === undefined) !== (finalize === undefined)) throw new TypeError(`controller ${name}: finalizer and finalize go together`);
  const primary = definition.for as Source;
  const foreign = owns.find(source => clusterOf(source) !== clusterOf(primary));
  if (foreign) throw new TypeError(`controller ${name}: it cannot own ${kindOf(foreign).kind} in another cluster than its own objects`);
  const sources = distinct([primary, ...owns, ...watches.map(({source}) => source), ...reads]);
  const queue = queueOf(definition);
  const {reconcileTimeout} = definition;
  if (reconcileTimeout !== undefined && msOf(reconcileTimeout) <= 0)
    throw new TypeError(`controller ${name}: reconcileTimeout must be above 0`);
  const periodMs = definition.every === undefined ? undefined : msOf(definition.every);
  const controller: OperatorController = {name, sources};
  keepDeclaration(controller, {primary, owns: owns.length > 0});
  register(controller, scope => {
    let mapping: EventMapping | undefined;
    const opened = (): EventMapping => mapping!;
    const limitMs = reconcileTimeout === undefined ? scope.reconcileTimeoutMs : msOf(reconcileTimeout);
    return defineRuntimeController({
      keysOf: kindOf(primary) as Kind,
      doc: `Reconciles ${kindOf(primary).plural}.`,
      name,
      reads: sources.flatMap(source => partsOf(source, scope)),
      watches: periodMs === undefined ? [] : [every(periodMs, () => lowPriorityRequests(opened().caches.list(primary)))],
      sources: (definition.sources ?? []).map(source => runtimeSource(source, opened)),
      workers: scope.concurrency ?? concurrency,
      queue,
      ...(limitMs === undefined ? {} : {reconcileTimeoutMs: limitMs}),
      async create(context) {
        const indexes = indexesOf(definition.indexes ?? []);
        await indexed(
          sources.flatMap(source => partsOf(source, scope)),
          indexes,
          context,
        );
        const caches = cachesOf(name, sources, indexes, source => readerOf(source, scope, part => context.lister(part as InformerSource)));
        const parts = {sources, caches, scope};
        const writes = ownWritesOf(definition, parts, context); // Hears of changes before their keys are queued.
        const retries = registerWatches(definition, parts, context);
        mapping = {caches, attempt: (mapped, event) => retries.attempt(mapped, event)};
        return reconcilerOf(definition, {...parts, writes}, context);
      },
    });
  });
  return controller;
};

const queueOf = ({name, retry = {}}: {readonly name: string; readonly retry?: RetryOptions}): QueueSettings => {
  const {delay, longest, limit, rateLimit} = retry;
  if (limit !== undefined && (!Number.isInteger(limit) || limit < 0))
    throw new TypeError(`controller ${name}: retry.limit must be a whole number from 0`);
  if (typeof rateLimit === 'object' && !(rateLimit.perSecond > 0 && rateLimit.burst >= 1))
    throw new TypeError(`controller ${name}: retry.rateLimit needs perSecond above 0 and burst of at least 1`);
  return {
    ...(delay === undefined ? {} : {baseDelayMs: msOf(delay)}),
    ...(longest === undefined ? {} : {maxDelayMs: msOf(longest)}),
    ...(limit === undefined ? {} : {maxRetries: limit}),
    ...(typeof rateLimit === 'object' ? {shared: rateLimit} : {unshared: rateLimit === 'none'}),
  };
};

/** Creates the indexes, in slices if the cache is full: a controller may be added to a running manager. */
const indexed = async (parts: readonly InformerSource[], indexes: readonly BuiltIndex[], {informers}: KeyedContext): Promise<void> => {
  for (const part of parts) {
    const own = indexes.filter(({kind}) => sameKind(kind, kindOf(part))).map(({index}) => index);
    if (own.length > 0) await informers.informer(part).whenIndexed(...own);
  }
};

interface ReconcilerParts {
  readonly sources: readonly Source[];
  readonly caches: Caches;
  readonly scope: ManagerScope;
}

/** Returns the reconcile function. */
const reconcilerOf = <T extends KubeObject>(
  definition: ControllerDefinition<T>,
  {sources, caches, scope, writes}: ReconcilerParts & {readonly writes: OwnWrites},
  context: KeyedContext,
) => {
  const {name, finalizer, finalize, reconcile} = definition;
  const {client, clock, events, recordedAs} = context;
  const primary = definition.for as Source;
  const clients = new ReconcileClients(
    {name, primary, owns: definition.owns ?? [], sources, caches, scope, client, clock, recordedAs},
    writes,
  );
  const cluster = clusterOf(primary);
  const attempted = async (key: ObjectKey, attempt: Attempt): Promise<Result> => {
    const {retries, signal} = attempt;
    const object = caches.get(definition.for as Source<T>, key) as Stored<T> | undefined;
    const own = lazily(() => clients.of(key, object, signal));
    // Many reconciles find that nothing is to be done: neither a client nor a logger is created for them.
    const given: ReconcileContext<T> = {
      key,
      object,
      caches,
      get client() {
        return own();
      },
      events,
      get log() {
        return attempt.log;
      },
      clock,
      retries,
      signal,
    };
    if (!object || finalizer === undefined || finalize === undefined) return (await reconcile(given)) ?? settled;
    const there = cluster === undefined ? own() : own().cluster(cluster);
    if (!(object as AnyObject).metadata?.deletionTimestamp) {
      const kept = (object as AnyObject).metadata?.finalizers?.includes(finalizer) ? object : await there.addFinalizer(object, finalizer);
      return (await reconcile({...given, object: kept})) ?? settled;
    }
    if (!(object as AnyObject).metadata?.finalizers?.includes(finalizer)) return settled;
    const result = (await finalize({...given, object})) ?? settled;
    if (result.kind === 'settled') await there.removeFinalizer(object, finalizer);
    return result;
  };
  return {'': {reconcile: attempted, admit: (key: ObjectKey) => writes.shown(key)}};
};

/** Remembers what the controller writes until its caches show it. */
const ownWritesOf = <T extends KubeObject>(
  {name, ownWritesWait = '2s'}: ControllerDefinition<T>,
  {sources, scope}: ReconcilerParts,
  {lister, listen, clock, meter, signal}: KeyedContext,
): OwnWrites => {
  const parts = cachedParts(sources, scope, part => lister(part as InformerSource));
  const writes = new OwnWrites({name, parts, longestMs: msOf(ownWritesWait), clock, meter, signal});
  for (const part of parts) {
    const heard = (change: Change) => writes.heard(part, change);
    const listed = (objects: readonly Frozen<KubeObject>[]) => writes.heardListed(part, objects);
    listen(part.source as InformerSource, heard, listed);
  }
  return writes;
};
