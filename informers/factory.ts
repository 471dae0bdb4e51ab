import {apiVersionOf, groupResource} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {listerWatcher} from './lister-watcher.js';
import {resolveSelection, type Source} from './selection.js';
import {SharedInformer, type SharedInformerOptions} from './shared.js';

export interface InformerFactoryOptions extends Omit<SharedInformerOptions, 'name' | 'kind' | 'apiVersion'> {
  readonly client: Client;
  /** The life of every informer. */
  readonly signal: AbortSignal;
}

/** Hands out one shared informer a selection, whoever asks. */
export class InformerFactory {
  readonly #options: InformerFactoryOptions;
  readonly #informers = new Map<string, SharedInformer>();
  #started = false;

  constructor(options: InformerFactoryOptions) {
    this.#options = options;
  }

  /** The informer of a source; it runs once the factory is started. */
  informer<T extends KubeObject>(source: Source<T>): SharedInformer<T> {
    const {client, signal} = this.#options;
    const selection = resolveSelection(source, client.naming);
    const known = this.#informers.get(selection.id);
    // The id holds the kind, and the kind its type.
    if (known) return known as unknown as SharedInformer<T>;
    const {kind, namespace, labelSelector, fieldSelector} = selection;
    const informer = new SharedInformer<T>(listerWatcher(client, selection), {
      ...this.#options,
      name: [groupResource(client.naming, kind), namespace, labelSelector, fieldSelector].filter(Boolean).join(' '),
      apiVersion: apiVersionOf(client.naming, kind),
      kind: kind.kind,
    });
    this.#informers.set(selection.id, informer as unknown as SharedInformer);
    if (this.#started) informer.start(signal);
    return informer;
  }

  /** Lets every informer run, those asked for later too. */
  start(): void {
    this.#started = true;
    for (const informer of this.#informers.values()) informer.start(this.#options.signal);
  }

  /** Resolves once every informer asked for so far is synced; rejects with the signal's reason if that comes first. */
  async whenSynced(signal: AbortSignal = this.#options.signal): Promise<void> {
    await Promise.all([...this.#informers.values()].map(informer => informer.whenSynced(signal)));
  }
}
