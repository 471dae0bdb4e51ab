// The interface between controllers and the manager: what a controller declares, what it is given
// (`ControllerContext`), and what a reconcile returns. A controller gets its clock, files, clients and metrics from its
// context alone.

import type {Change} from '#informers/change.js';
import type {Informers} from '#informers/factory.js';
import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import {naming, type Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {FeatureGates} from '#src/options/feature-gates.js';
import type {Priority} from '#src/queue/work-queue.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {Cloud} from './cloud.js';
import type {EventSource} from './event-source.js';
import type {Result} from './result.js';
import type {OwnedWatch, Watch} from './watches.js';
import type {Writer} from './writer.js';

export {requeueAfter, Expected, settled, Terminal, type Result} from './result.js';
export {every, forLoop, mapped, owned, sameKey, singletonKey} from './watches.js';

/** The feature gates that a controller can query. */
export type Gates = Pick<FeatureGates, 'enabled'>;

/** Everything a controller may use. Controllers get clocks, files, clients and metrics from here alone. */
export interface ControllerContext<O = unknown> {
  /** The canonical name. */
  readonly name: string;
  /**
   * Returns the cache of a source. Declared sources may be requested at any time, others only during `create`, which
   * makes the workers wait for their sync.
   */
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  /**
   * Calls `listener` with each change of a source until the controller stops, before the keys of the change are
   * reconciled. To be called during `create`: listeners that are registered first are called first. Objects of the
   * first list may be handed to `listed` instead, many at a time.
   */
  listen<T extends KubeObject>(
    source: Source<T>,
    listener: (change: Change<T>) => void,
    listed?: (objects: readonly Frozen<T>[]) => void,
  ): void;
  writer<T extends KubeObject>(kind: Kind<T>): Writer<T>;
  /** The controller's own client, with its identity and rate limits. */
  readonly client: Client;
  /** For controllers that watch kinds known only at run time. */
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly log: Log;
  readonly meter: Meter;
  readonly events: EventRecorder;
  /** Takes what a controller reports beside its reconciles; undefined if nothing is recorded. */
  readonly recorder?: FlightRecorder | undefined;
  readonly naming: Naming;
  readonly options: Readonly<O>;
  readonly gates: Gates;
  /** The PEM bundle that the connection settings of this process trust; empty if they have none. */
  readonly serverAuthority: string;
  /**
   * The cloud, if there is one in this process. Controllers that need one are built only if there is, and it is not
   * external.
   */
  readonly cloud?: Cloud | undefined;
  /** Aborts when the controller is to stop. */
  readonly signal: AbortSignal;
  /** Replaces the controller's health check, which otherwise always passes. A check fails by throwing. */
  healthCheck(check: () => void | Promise<void>): void;
  /** Serves pages at and below `/debug/controllers/<name>` of the manager's port while the controller runs. */
  debugPages(pages: DebugPages): void;
}

/** A page for debugging. */
export interface DebugPage {
  readonly contentType: string;
  readonly body: string;
}
/** Returns the page at a path below the controller's own, such as `/graph`; undefined where there is none. */
export type DebugPages = (path: string, query: URLSearchParams) => DebugPage | undefined;

/** How a key is queued. */
export interface EnqueueOptions {
  readonly afterMs?: number;
  readonly loop?: string;
  readonly priority?: Priority;
  /** Returns what queues it, for traces. */
  readonly cause?: (() => string) | undefined;
}

/** The context of a controller that reconciles keys. */
export interface KeyedContext<O = unknown> extends ControllerContext<O> {
  /** Queues a key independently of any watch, `afterMs` later if set. */
  enqueue(key: ObjectKey, options?: EnqueueOptions): void;
  /** Queues many keys at once; `cause` returns what queues one of them. */
  enqueueAll(keys: readonly ObjectKey[], options: {readonly priority: Priority; cause(key: ObjectKey): string}): void;
  /** Calls `act`, whose writes are recorded as those of the reconcile of a key, also while others are in progress. */
  recordedAs<T>(key: ObjectKey, act: () => T): T;
}

/** One attempt to reconcile a key. */
export interface Attempt {
  /** A logger with the key. */
  readonly log: Log;
  /** How many times in a row this key failed before. */
  readonly retries: number;
  /** Aborts when the controller is to stop, or the attempt has reached its time limit. */
  readonly signal: AbortSignal;
  /** Waits within an attempt, where a requeue is not enough. The virtual clock can advance meanwhile. */
  pause(ms: number): Promise<void>;
}

/**
 * Brings one object to its desired state, from what the caches hold now, whichever event queued it. Returns `settled`
 * or `requeueAfter(ms)`. A throw means retry with backoff, a thrown `Terminal` means do not retry.
 */
export type Reconcile = (key: ObjectKey, attempt: Attempt) => Promise<Result>;

/**
 * How failed keys are retried: after the longer of an exponential backoff of the key and the delay of a bucket that all
 * keys share.
 */
export interface QueueSettings {
  /** Default 5. */
  readonly baseDelayMs?: number;
  /** Default 1000 s. */
  readonly maxDelayMs?: number;
  /** After that many retries a key is dropped until something changes. Default unlimited. */
  readonly maxRetries?: number;
  /**
   * The queue's name in metrics, for every loop. Defaults to the controller's name, with the loop's where there are
   * several.
   */
  readonly name?: string;
  /** The bucket that all keys share. Default: 10 a second, 100 at once. */
  readonly shared?: {readonly perSecond: number; readonly burst: number};
  /** Whether only the key's own backoff counts, without the shared bucket. */
  readonly unshared?: boolean;
}

/**
 * A value computed from the options. Declared as a method (bivariant), so that lists may hold controllers that read
 * different options.
 */
type FromOptions<O, V> = {of(options: Readonly<O>): V}['of'];

/** Fields of the manager's configuration: each shows a flag, or has fields of its own. */
export interface ConfigurationFields {
  readonly [field: string]: string | ConfigurationFields;
}

interface Declaration<O> {
  /** One sentence for `--help` and the docs. */
  readonly doc: string;
  /**
   * The canonical name in `--controllers` and metrics. The table of names adds its aliases, its gates, and whether it
   * is on by default.
   */
  readonly name: string;
  /**
   * The service account that it uses with `--use-service-account-credentials`; without one it uses the manager's own
   * identity.
   */
  readonly serviceAccount?: string | ((naming: Naming) => string);
  /** The source component of its Events. Defaults to the canonical name. */
  readonly eventSource?: string;
  /** The flags that it reads and that `/configz` shows, by the names of its section and fields. */
  readonly configuration?: ConfigurationFields | ((naming: Naming) => ConfigurationFields);
  /** Further flags that it reads, in command line form. */
  readonly flags?: readonly string[];
  /** Returns true if the options let it run, or the reason why not. */
  enabled?(options: Readonly<O>, context: {readonly gates: Gates; readonly naming: Naming}): true | string;
  /** Sources that it reads besides those it watches. All are synced before work begins. */
  readonly reads?: readonly Source[];
  /** Factors by which its client's rate limits exceed the defaults. */
  readonly clientLimits?: {readonly qpsFactor: number; readonly burstFactor: number};
}

/** A controller that reconciles one key at a time. */
export interface KeyedController<O = unknown> extends Declaration<O> {
  readonly shape: 'keyed';
  /** The kind whose keys are reconciled. Every change of an object queues its key. */
  readonly primary?: Source;
  readonly watches?: readonly (Watch | OwnedWatch)[];
  /** The kind of the keys, where there is no primary kind. Only recorded. */
  readonly keysOf?: Kind;
  /** The number of workers of each loop. Default 1. */
  readonly workers?: number | FromOptions<O, number>;
  readonly queue?: QueueSettings;
  /** The time limit of an attempt. Default: none. */
  readonly reconcileTimeoutMs?: number;
  /** Sources of keys besides the watches; they are opened once the controller runs. */
  readonly sources?: readonly EventSource[];
  /**
   * Called once, before the informers start: caches are still empty. Returns the reconcile function, or several loops
   * by name, each with a queue and workers of its own. A rejection stops the program.
   */
  create(context: KeyedContext<O>): Reconcile | Loops | Promise<Reconcile | Loops>;
}
export type Loops = Readonly<Record<string, Reconcile | Loop>>;

/** A loop with settings of its own. */
export interface Loop {
  readonly reconcile: Reconcile;
  /**
   * Returns a promise if a key must not be reconciled yet. No worker waits for it: the key is queued again when it
   * resolves.
   */
  readonly admit?: (key: ObjectKey) => Promise<void> | undefined;
  /** Defaults to the controller's. */
  readonly workers?: number;
  /** The queue's name in metrics. */
  readonly queueName?: string;
}

/** A controller that runs its own loop. */
export interface LongRunningController<O = unknown> extends Declaration<O> {
  readonly shape: 'running';
  /** Whether it runs on every replica, and not only on the one that leads. */
  readonly isEverywhere?: boolean;
  /** Whether its failure ends the manager. Otherwise it is run again. */
  readonly isEssential?: boolean;
  /**
   * As for keyed controllers. The returned `run` is called once caches are synced, and resolves after all its work has
   * ended.
   */
  create(context: ControllerContext<O>): Run | Promise<Run>;
}
export type Run = (signal: AbortSignal) => Promise<void>;

/** A controller's declaration, of either shape. `O` is the part of the options that it reads. */
export type Controller<O = unknown> = KeyedController<O> | LongRunningController<O>;

/** Declares a controller that reconciles keys. */
export const defineController = <O = unknown>(declaration: Omit<KeyedController<O>, 'shape'>): KeyedController<O> => ({
  ...declaration,
  shape: 'keyed',
});

/** Declares a controller that runs its own loop. */
export const defineLongRunning = <O = unknown>(declaration: Omit<LongRunningController<O>, 'shape'>): LongRunningController<O> => ({
  ...declaration,
  shape: 'running',
});

/** Returns the service account of a controller. */
export const serviceAccountOf = ({serviceAccount}: Controller, words: Naming): string | undefined =>
  typeof serviceAccount === 'function' ? serviceAccount(words) : serviceAccount;

/** Returns the fields of a controller in the manager's configuration. */
export const configurationOf = ({configuration = {}}: Controller, words: Naming): ConfigurationFields =>
  typeof configuration === 'function' ? configuration(words) : configuration;

const flagsIn = (fields: ConfigurationFields): readonly string[] =>
  Object.values(fields).flatMap(from => (typeof from === 'string' ? [from] : flagsIn(from)));

/** Returns all flags that a controller reads. They do not depend on the naming. */
export const flagsOf = (controller: Controller): readonly string[] => [
  ...flagsIn(configurationOf(controller, naming('plat'))),
  ...(controller.flags ?? []),
];
