import {discover, handleOf, type Discovered} from '#controllers/shared/discovery.js';
import type {Change} from '#informers/change.js';
import type {SharedInformer} from '#informers/shared.js';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import {firstOf} from '#src/base/signals.js';
import type {QuotaEvaluator} from '#src/model/quota/evaluator.js';
import type {KeyedContext} from '#src/runtime/controller.js';

/** How long it is believed what the server serves. */
const discoveryMaxAgeMs = 30_000;

const verbs = ['create', 'list', 'watch', 'delete'];

/** An informer until the server no longer serves what it follows. */
interface TrackedResource {
  readonly informer: SharedInformer;
  readonly ended: AbortSignal;
}

/** The objects that quotas count: each resource is followed from when a quota first limits it. */
export class CountedObjects {
  readonly #context: KeyedContext;
  readonly #changed: (evaluator: QuotaEvaluator, change: Change) => void;
  readonly #informers = new Map<QuotaEvaluator, TrackedResource>();
  #discovered: {readonly at: number; readonly found: Promise<Discovered>} | undefined;

  constructor(context: KeyedContext, changed: (evaluator: QuotaEvaluator, change: Change) => void) {
    this.#context = context;
    this.#changed = changed;
  }

  /** The objects of a namespace; undefined where the server does not serve the resource. Rejects when it cannot be asked. */
  async list(evaluator: QuotaEvaluator, namespace: string, signal: AbortSignal): Promise<readonly Frozen<KubeObject>[] | undefined> {
    const followed = this.#informers.get(evaluator) ?? (await this.#follow(evaluator));
    if (!followed) return undefined;
    using either = firstOf(signal, followed.ended);
    await followed.informer.whenSynced(either.signal).catch((error: unknown) => {
      if (!followed.ended.aborted) throw error;
    });
    return followed.informer.isSynced ? followed.informer.lister.list(namespace) : undefined;
  }

  /** Tells which resources can be followed, of those the server serves. Rejects when it cannot be asked. */
  async served(): Promise<(resource: string, group: string) => boolean> {
    const {resources} = await this.#discover();
    const names = new Set(resources.map(({resource, group}) => `${resource}.${group}`));
    return (resource, group) => names.has(`${resource}.${group}`) || this.isFollowed(resource, group);
  }

  /** Whether a resource is followed already. */
  readonly isFollowed = (resource: string, group: string): boolean => {
    for (const evaluator of this.#informers.keys()) if (evaluator.resource === resource && evaluator.group === group) return true;
    return false;
  };

  async #follow(evaluator: QuotaEvaluator): Promise<TrackedResource | undefined> {
    const {informers, naming, signal} = this.#context;
    const {resources} = await this.#discover();
    const found = resources.find(({group, resource}) => group === evaluator.group && resource === evaluator.resource);
    if (!found?.namespaced || !verbs.every(verb => found.verbs.includes(verb))) return undefined;
    const known = this.#informers.get(evaluator); // Somebody else may have asked meanwhile.
    if (known) return known;
    const end = new AbortController();
    const stop = () => end.abort();
    // A resource that is served no longer is not followed either, until it is and somebody asks for it again.
    const borrowed = evaluator.kind ? {informer: informers.informer(evaluator.kind) as SharedInformer} : informers.borrowMetadata(handleOf(naming, found), stop);
    const listening = borrowed.informer.listen(change => this.#changed(evaluator, change));
    signal.addEventListener('abort', stop, {once: true});
    end.signal.addEventListener('abort', () => {
      signal.removeEventListener('abort', stop);
      listening[Symbol.dispose]();
      (borrowed as Partial<Disposable>)[Symbol.dispose]?.();
      this.#informers.delete(evaluator);
      this.#discovered = undefined;
    });
    const followed = {informer: borrowed.informer, ended: end.signal};
    this.#informers.set(evaluator, followed);
    return followed;
  }

  #discover(): Promise<Discovered> {
    const {client, clock} = this.#context;
    const now = clock.monotonic();
    if (!this.#discovered || now - this.#discovered.at > discoveryMaxAgeMs) this.#discovered = {at: now, found: discover(client)};
    return this.#discovered.found;
  }
}
