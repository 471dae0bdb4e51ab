// A user's controller: its declaration, and how it becomes one of the runtime's controllers, which the built-in ones are too.

import type {Change} from '#informers/change.js';
import {keyOf, type Frozen, type ObjectKey} from '#src/api/key.js';
import {apiVersionOf, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject, OwnerReference} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {defineController as defineRuntimeController, every, settled, type Attempt, type KeyedContext} from '#src/runtime/controller.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {controllerKey} from '#src/runtime/watches.js';
import {AppliedConfigurations} from './applied.js';
import {cachesOf, type Caches} from './caches.js';
import {ReconcileClient, type OperatorClient} from './client.js';
import {KindResolver} from './kind-resolver.js';
import type {Predicate} from './predicates.js';
import {msOf, type Duration, type Result} from './result.js';
import {register} from './runtime-of.js';
import {kindOf, sameKind, type NamedIndex, type Source} from './sources.js';
import {statesOf, type Watch} from './watches.js';

/** What a reconcile is given. */
export interface ReconcileContext<T extends KubeObject = KubeObject> {
  readonly key: ObjectKey;
  /** The object of that key as it is cached; undefined once it is gone. */
  readonly object: Frozen<T> | undefined;
  readonly caches: Caches;
  readonly client: OperatorClient;
  /** Records Events about objects. */
  readonly events: EventRecorder;
  readonly log: Log;
  readonly clock: Clock;
  /** How many times in a row this key failed before. */
  readonly retries: number;
  /** Aborts when the controller is to stop. */
  readonly signal: AbortSignal;
}

/** How failed keys are retried. */
export interface RetryOptions {
  /** The delay after the first failure, doubled with each further one. Default 5 ms. */
  readonly delay?: Duration;
  /** The longest delay. Default 1000 s. */
  readonly longest?: Duration;
  /** After that many retries a key waits until something changes. Default unlimited. */
  readonly limit?: number;
}

/** What a user declares. Everything has a safe default but the name, the kind and what to do. */
export interface ControllerDefinition<T extends KubeObject = KubeObject> {
  /** The name in metrics, logs and Events, and the field manager of its writes. */
  readonly name: string;
  /** The kind, or part of a collection, whose objects are reconciled. */
  readonly for: Source<T>;
  /** Which changes of these objects queue their key. Default: all. */
  readonly when?: Predicate<T>;
  /** Kinds of objects that it makes: they get an owner reference, and a change of one queues its owner. */
  readonly owns?: readonly Source[];
  /** Other kinds whose changes queue keys. */
  readonly watches?: readonly Watch[];
  /** Kinds that it only reads. */
  readonly reads?: readonly Source[];
  readonly indexes?: readonly NamedIndex[];
  /** How many keys are reconciled at a time; each key only once at a time. Default 1. */
  readonly concurrency?: number;
  readonly retry?: RetryOptions;
  /** Reconciles all objects again each period, whether anything changed or not. Default: never. */
  readonly every?: Duration;
  /**
   * With `finalize`: the finalizer that each object gets before it is reconciled first, such as `backups.example.com/storage`. Objects that are deleted are finalized
   * instead of reconciled, and lose it then.
   */
  readonly finalizer?: string;
  /** Cleans up before the object goes. Returns `againAfter` to be called again; the finalizer is removed otherwise. */
  finalize?(context: ReconcileContext<T> & {readonly object: Frozen<T>}): Promise<Result | void>;
  /**
   * Brings the objects of one key to their desired state, whatever happened before. Returns `againAfter` to be called again later. A throw means retry with backoff; a thrown
   * `Terminal`, that a retry is useless until something changes.
   */
  reconcile(context: ReconcileContext<T>): Promise<Result | void>;
}

/** A declared controller, to be run by a manager. */
export interface OperatorController {
  readonly name: string;
  /** What it caches. */
  readonly sources: readonly Source[];
}

/** Declares a controller. Throws a `TypeError` for a declaration that cannot work. */
export const defineController = <T extends KubeObject>(definition: ControllerDefinition<T>): OperatorController => {
  const {name, watches = [], owns = [], reads = [], concurrency = 1, finalizer, finalize} = definition;
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name))
    throw new TypeError(`controller name "${name}": use lower case letters, digits, - and .`);
  if (!Number.isInteger(concurrency) || concurrency < 1) throw new TypeError(`controller ${name}: concurrency must be a positive integer`);
  if ((finalizer === undefined) !== (finalize === undefined)) throw new TypeError(`controller ${name}: finalizer and finalize go together`);
  const primary = definition.for as Source;
  const sources = [...new Set([primary, ...owns, ...watches.map(({source}) => source), ...reads])];
  const {delay, longest, limit} = definition.retry ?? {};
  const runtime = defineRuntimeController({
    doc: `Reconciles ${kindOf(primary).plural}.`,
    name,
    reads: sources,
    watches: definition.every === undefined ? [] : [every(msOf(definition.every), ({lister}) => lister(primary).list().map(keyOf))],
    workers: concurrency,
    queue: {
      ...(delay === undefined ? {} : {baseDelayMs: msOf(delay)}),
      ...(longest === undefined ? {} : {maxDelayMs: msOf(longest)}),
      ...(limit === undefined ? {} : {maxRetries: limit}),
    },
    create: context => reconcilerOf(definition, sources, context),
  });
  const controller: OperatorController = {name, sources};
  register(controller, runtime);
  return controller;
};

/** Registers the watches, which queue keys, and returns the function that reconciles a key. */
const reconcilerOf = <T extends KubeObject>(definition: ControllerDefinition<T>, sources: readonly Source[], context: KeyedContext) => {
  const {name, indexes = [], finalizer, finalize, reconcile} = definition;
  const {client, clock, events} = context;
  const caches = cachesOf(name, sources, indexes, source => context.lister(source));
  registerWatches(definition, caches, context);
  const shared = {
    client,
    clock,
    fieldManager: name,
    resolver: new KindResolver(client, sources.map(kindOf)),
    applied: new AppliedConfigurations(),
    cached: cachedBy(sources, caches),
  };
  return async (key: ObjectKey, {log, retries, signal}: Attempt): Promise<Result> => {
    const object = caches.get(definition.for, key);
    const own = new ReconcileClient({...shared, signal, ownerOf: ownersFor(definition, object, context)});
    const given: ReconcileContext<T> = {key, object, caches, client: own, events, log, clock, retries, signal};
    if (!object || finalizer === undefined || finalize === undefined) return (await reconcile(given)) ?? settled;
    if (!object.metadata?.deletionTimestamp) {
      const kept = object.metadata?.finalizers?.includes(finalizer) ? object : await own.addFinalizer(object, finalizer);
      return (await reconcile({...given, object: kept})) ?? settled;
    }
    if (!object.metadata.finalizers?.includes(finalizer)) return settled;
    const result = (await finalize({...given, object})) ?? settled;
    if (result.kind === 'settled') await own.removeFinalizer(object, finalizer);
    return result;
  };
};

/** Returns the function that finds a cached object by its kind, if exactly one source of it is declared. */
const cachedBy =
  (sources: readonly Source[], caches: Caches) =>
  (kind: Kind, key: ObjectKey): Frozen<KubeObject> | undefined => {
    const [source, ...more] = sources.filter(each => sameKind(kindOf(each), kind));
    return source && more.length === 0 ? caches.get(source, key) : undefined;
  };

/** Returns the owner reference for objects of the kinds that a controller owns. */
const ownersFor = <T extends KubeObject>(definition: ControllerDefinition<T>, object: Frozen<T> | undefined, {naming}: KeyedContext) => {
  const owned = (definition.owns ?? []).map(kindOf);
  return (kind: Kind): {readonly reference: OwnerReference; readonly namespace: string} | undefined => {
    if (!object || !owned.some(({group, plural}) => group === kind.group && plural === kind.plural)) return undefined;
    const own = kindOf(definition.for);
    const {name = '', uid = ''} = object.metadata ?? {};
    return {
      reference: {apiVersion: apiVersionOf(naming, own as Kind), kind: own.kind, name, uid, controller: true, blockOwnerDeletion: true},
      namespace: keyOf(object).namespace,
    };
  };
};

/** Queues keys for changes of all sources, and for every object each period. */
const registerWatches = <T extends KubeObject>(definition: ControllerDefinition<T>, caches: Caches, context: KeyedContext): void => {
  const primary = definition.for as Source;
  const {naming, enqueue} = context;
  const listen = (source: Source, when: Predicate | undefined, keys: (change: Change) => Iterable<ObjectKey>) =>
    context.listen(source, change => {
      if (when && !when(change)) return;
      for (const key of keys(change)) enqueue(key);
    });
  listen(primary, definition.when as Predicate | undefined, change => [keyOf(change.object)]);
  for (const source of definition.owns ?? [])
    listen(source, undefined, change => statesOf(change).flatMap(object => controllerKey(object, kindOf(primary), naming) ?? []));
  for (const {source, keys, when} of definition.watches ?? [])
    listen(source, when, change =>
      statesOf(change).flatMap(object =>
        [...keys(object, {caches})].map(key => ('name' in key ? (key as ObjectKey) : keyOf(key as Frozen<KubeObject>))),
      ),
    );
};
