import {discover, handleOf, type Discovered} from '#controllers/shared/discovery.js';
import type {Change} from '#informers/change.js';
import type {SharedInformer} from '#informers/shared.js';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import {firstOf} from '#src/base/signals.js';
import type {QuotaEvaluator} from '#src/model/quota/evaluator.js';
import type {KeyedContext} from '#src/runtime/controller.js';

/** How long a discovery result is used. */
const discoveryMaxAgeMs = 30_000;

const verbs = ['create', 'list', 'watch', 'delete'];

/** An informer; `ended` aborts when the server no longer serves its resource. */
interface TrackedResource {
  readonly informer: SharedInformer;
  readonly ended: AbortSignal;
}

const textOf = ({resource, group}: {readonly resource: string; readonly group: string}): string => `${resource}.${group}`;

/** The objects that quotas count. Each resource is watched from the time a quota first limits it. */
export class CountedObjects {
  readonly #context: KeyedContext;
  readonly #changed: (evaluator: QuotaEvaluator, change: Change) => void;
  /** By the text of the resource. */
  readonly #informers = new Map<string, TrackedResource>();
  #discovered: {readonly at: number; readonly found: Promise<Discovered>} | undefined;

  constructor(context: KeyedContext, changed: (evaluator: QuotaEvaluator, change: Change) => void) {
    this.#context = context;
    this.#changed = changed;
  }

  /**
   * Returns the objects of a namespace, or undefined if the server does not serve the resource. Rejects if discovery
   * fails.
   */
  async list(evaluator: QuotaEvaluator, namespace: string, signal: AbortSignal): Promise<readonly Frozen<KubeObject>[] | undefined> {
    const tracked = this.#informers.get(textOf(evaluator)) ?? (await this.#watch(evaluator));
    if (!tracked) return undefined;
    using either = firstOf(signal, tracked.ended);
    await tracked.informer.whenSynced(either.signal).catch((error: unknown) => {
      if (!tracked.ended.aborted) throw error;
    });
    return tracked.informer.isSynced ? tracked.informer.lister.list(namespace) : undefined;
  }

  /** Returns a check for whether a resource is served or already watched. Rejects if discovery fails. */
  async served(): Promise<(resource: string, group: string) => boolean> {
    const {resources} = await this.#discover();
    const names = new Set(resources.map(textOf));
    return (resource, group) => names.has(textOf({resource, group})) || this.isWatched(resource, group);
  }

  /** Whether a resource is watched already. */
  readonly isWatched = (resource: string, group: string): boolean => this.#informers.has(textOf({resource, group}));

  async #watch(evaluator: QuotaEvaluator): Promise<TrackedResource | undefined> {
    const {informers, naming, signal} = this.#context;
    const {resources} = await this.#discover();
    const found = resources.find(({group, resource}) => group === evaluator.group && resource === evaluator.resource);
    if (!found?.namespaced || !verbs.every(verb => found.verbs.includes(verb))) return undefined;
    const known = this.#informers.get(textOf(evaluator)); // Another call may have started it meanwhile.
    if (known) return known;
    const end = new AbortController();
    const stop = () => end.abort();
    // The watch ends when the resource is no longer served, and starts again with the next call once it is.
    const borrowed = evaluator.kind
      ? {informer: informers.informer(evaluator.kind) as SharedInformer}
      : informers.borrowMetadata(handleOf(naming, found), stop);
    const registration = borrowed.informer.listen(change => this.#changed(evaluator, change));
    signal.addEventListener('abort', stop, {once: true});
    end.signal.addEventListener('abort', () => {
      signal.removeEventListener('abort', stop);
      registration[Symbol.dispose]();
      (borrowed as Partial<Disposable>)[Symbol.dispose]?.();
      this.#informers.delete(textOf(evaluator));
      this.#discovered = undefined;
    });
    const tracked = {informer: borrowed.informer, ended: end.signal};
    this.#informers.set(textOf(evaluator), tracked);
    return tracked;
  }

  #discover(): Promise<Discovered> {
    const {client, clock} = this.#context;
    const now = clock.monotonic();
    if (!this.#discovered || now - this.#discovered.at > discoveryMaxAgeMs) this.#discovered = {at: now, found: discover(client)};
    return this.#discovered.found;
  }
}
