import {discover, handleOf, type Discovered} from '#controllers/shared/discovery.js';
import type {Change} from '#informers/change.js';
import type {SharedInformer} from '#informers/shared.js';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {QuotaEvaluator} from '#src/model/quota/evaluator.js';
import type {KeyedContext} from '#src/runtime/controller.js';

/** How long it is believed what the server serves. */
const believedMs = 30_000;

const verbs = ['create', 'list', 'watch', 'delete'];

/** The objects that quotas count: each resource is followed from when a quota first limits it. */
export class CountedObjects {
  readonly #context: KeyedContext;
  readonly #changed: (evaluator: QuotaEvaluator, change: Change) => void;
  readonly #informers = new Map<QuotaEvaluator, SharedInformer>();
  #discovered: {readonly at: number; readonly found: Promise<Discovered>} | undefined;

  constructor(context: KeyedContext, changed: (evaluator: QuotaEvaluator, change: Change) => void) {
    this.#context = context;
    this.#changed = changed;
  }

  /** The objects of a namespace; undefined where the server does not serve the resource. Rejects when it cannot be asked. */
  async list(evaluator: QuotaEvaluator, namespace: string, signal: AbortSignal): Promise<readonly Frozen<KubeObject>[] | undefined> {
    const informer = this.#informers.get(evaluator) ?? (await this.#follow(evaluator));
    await informer?.whenSynced(signal);
    return informer?.lister.list(namespace);
  }

  async #follow(evaluator: QuotaEvaluator): Promise<SharedInformer | undefined> {
    const {informers, naming, signal} = this.#context;
    const {resources} = await this.#discover();
    const found = resources.find(({group, resource}) => group === evaluator.group && resource === evaluator.resource);
    if (!found?.namespaced || !verbs.every(verb => found.verbs.includes(verb))) return undefined;
    const known = this.#informers.get(evaluator); // Somebody else may have asked meanwhile.
    if (known) return known;
    const {informer, ...lent} = evaluator.kind ? {informer: informers.informer(evaluator.kind) as SharedInformer} : informers.borrowMetadata(handleOf(naming, found));
    const listening = informer.listen(change => this.#changed(evaluator, change));
    signal.addEventListener(
      'abort',
      () => {
        listening[Symbol.dispose]();
        (lent as Partial<Disposable>)[Symbol.dispose]?.();
      },
      {once: true},
    );
    this.#informers.set(evaluator, informer);
    return informer;
  }

  #discover(): Promise<Discovered> {
    const {client, clock} = this.#context;
    const now = clock.monotonic();
    if (!this.#discovered || now - this.#discovered.at > believedMs) this.#discovered = {at: now, found: discover(client)};
    return this.#discovered.found;
  }
}
