import type {Change} from '#informers/change.js';
import type {Lister} from '#informers/lister.js';
import type {InformerFactory} from '#informers/factory.js';
import type {Source} from '#informers/selection.js';
import type {ObjectKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {FeatureGates} from '#src/options/feature-gates.js';
import type {EventRecorder} from './events.js';
import type {Result} from './result.js';
import type {OwnedWatch, Watch} from './watches.js';
import type {Writer} from './writer.js';

export {requeueAfter, Expected, settled, Terminal, type Result} from './result.js';
export {every, forLoop, mapped, owned, sameKey, singletonKey} from './watches.js';

/** Which feature gates are on. */
export type Gates = Pick<FeatureGates, 'enabled'>;

/** Everything a controller may touch. Nothing else reaches it. */
export interface ControllerContext<O = unknown> {
  /** The canonical name. */
  readonly name: string;
  /** The cache of a source. Sources of the declaration may be asked for at any time, others only inside `create`, which makes the workers wait for them. */
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  /**
   * Hears every change of a source until the controller ends: for what must be noted before a key is looked at. To be called inside `create`, as
   * listeners that join first hear first.
   */
  listen<T extends KubeObject>(source: Source<T>, listener: (change: Change<T>) => void): void;
  writer<T extends KubeObject>(kind: Kind<T>): Writer<T>;
  /** The controller's own client: its identity, its rate limits. */
  readonly client: Client;
  /** For engines that follow kinds known only at run time. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly log: Log;
  readonly meter: Meter;
  readonly events: EventRecorder;
  readonly naming: Naming;
  readonly options: Readonly<O>;
  readonly gates: Gates;
  /** The PEM bundle that the process's own connection settings trust; empty where they carry none. */
  readonly serverAuthority: string;
  /** Aborts when the controller is to end. */
  readonly signal: AbortSignal;
  /** Replaces the controller's health check, which otherwise always passes. It fails by throwing. */
  healthCheck(check: () => void | Promise<void>): void;
  /** Shows pages at and below `/debug/controllers/<name>` of the manager's port while the controller is there. */
  debugPages(pages: DebugPages): void;
}

/** A page for people who look for a fault. */
export interface DebugPage {
  readonly contentType: string;
  readonly body: string;
}
/** Answers a path below the controller's own, such as `/graph`; undefined where there is no page. */
export type DebugPages = (path: string, query: URLSearchParams) => DebugPage | undefined;

/** What a controller by key gets besides. */
export interface KeyedContext<O = unknown> extends ControllerContext<O> {
  /** Asks for a key from outside of any watch; `afterMs` later if given. */
  enqueue(key: ObjectKey, options?: {readonly afterMs?: number; readonly loop?: string}): void;
}

/** One look at one key. */
export interface Attempt {
  /** Carries the key. */
  readonly log: Log;
  /** How often this key failed in a row before. */
  readonly retries: number;
  /** Aborts when the controller is to end. */
  readonly signal: AbortSignal;
  /** Waits within an attempt, where coming back later will not do. The only wait a virtual clock does not hang on. */
  pause(ms: number): Promise<void>;
}

/**
 * Brings one object to its wanted state, from what the caches hold now; which event asked for it is not told. Returns `settled` or
 * `againAfter(ms)`. A throw means retry with backoff, a thrown `Terminal` means do not retry.
 */
export type Reconcile = (key: ObjectKey, attempt: Attempt) => Promise<Result>;

/** How failing keys are retried: the longer of a delay that doubles with each failure of the key, and a bucket all keys share. */
export interface QueueSettings {
  /** 5 unless given. */
  readonly baseDelayMs?: number;
  /** 1000 s unless given. */
  readonly maxDelayMs?: number;
  /** After that many retries a key is given up until something changes. Unlimited unless given. */
  readonly maxRetries?: number;
  /** The queue's name in metrics, whichever loop it is of. Unless given it is the controller's, with the loop's where there are several. */
  readonly name?: string;
  /** Whether only the key's own delay counts, and no bucket is shared. */
  readonly unshared?: boolean;
}

/** A value that follows from the options. Written as a method so that lists of controllers may hold declarations that read different options. */
type FromOptions<O, V> = {of(options: Readonly<O>): V}['of'];

interface Declaration<O> {
  /** One sentence for `--help` and the docs. */
  readonly doc: string;
  /** The canonical name, as `--controllers` and metrics know it. The table of names adds its aliases, its gates, and whether it is on by default. */
  readonly name: string;
  /** The service account it acts as when controllers have their own identities; without one it acts as the manager itself. */
  readonly serviceAccount?: string;
  /** The source component of its Events: the canonical name unless given. */
  readonly eventSource?: string;
  /** The flags it reads, as the command line spells them. */
  readonly flags?: readonly string[];
  /** Whether the options let it run; a text says why not. */
  enabled?(options: Readonly<O>, context: {readonly gates: Gates; readonly naming: Naming}): true | string;
  /** Sources it reads beside those it watches; all are synced before work begins. */
  readonly reads?: readonly Source[];
  /** How much more its client may ask of the server than others. */
  readonly clientLimits?: {readonly qpsFactor: number; readonly burstFactor: number};
}

/** A controller that is asked about one key at a time. */
export interface KeyedController<O = unknown> extends Declaration<O> {
  readonly shape: 'keyed';
  /** The kind whose keys are reconciled; every change to an object asks for its key. */
  readonly primary?: Source;
  readonly watches?: readonly (Watch | OwnedWatch)[];
  /** How many keys are worked on at once, in each loop. One unless given. */
  readonly workers?: number | FromOptions<O, number>;
  readonly queue?: QueueSettings;
  /**
   * Called once, before the informers start: caches are empty still. The answer is the reconcile, or several loops by name, each
   * with a queue and workers of its own. A rejection stops the program.
   */
  create(context: KeyedContext<O>): Reconcile | Loops | Promise<Reconcile | Loops>;
}
export type Loops = Readonly<Record<string, Reconcile | Loop>>;

/** A loop that differs from the others of its controller. */
export interface Loop {
  readonly reconcile: Reconcile;
  /** As the declaration says unless given. */
  readonly workers?: number;
  /** Its queue's name in metrics. */
  readonly queueName?: string;
}

/** A controller with an engine of its own. */
export interface LongRunningController<O = unknown> extends Declaration<O> {
  readonly shape: 'running';
  /** As for keyed controllers. The `run` it answers is called once caches are synced, and ends all its work before it resolves. */
  create(context: ControllerContext<O>): Run | Promise<Run>;
}
export type Run = (signal: AbortSignal) => Promise<void>;

/** A controller's declaration, whichever shape it has. `O` is what it reads of the options. */
export type Controller<O = unknown> = KeyedController<O> | LongRunningController<O>;

/** Declares a controller by key. */
export const defineController = <O = unknown>(declaration: Omit<KeyedController<O>, 'shape'>): KeyedController<O> => ({...declaration, shape: 'keyed'});

/** Declares a controller with an engine of its own. */
export const defineLongRunning = <O = unknown>(declaration: Omit<LongRunningController<O>, 'shape'>): LongRunningController<O> => ({
  ...declaration,
  shape: 'running',
});
