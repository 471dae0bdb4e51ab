import {isIntroduced} from '#src/api/kind.js';
import {apiVersionOf, groupResource, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {onAbort} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {emptyListerWatcher, listerWatcher} from './lister-watcher.js';
import {resolveSelection, type ResolvedSelection, type Source} from './selection.js';
import {SharedInformer, type SharedInformerOptions} from './shared.js';

export interface InformerFactoryOptions extends Omit<SharedInformerOptions, 'name' | 'kind' | 'apiVersion' | 'metadataOnly' | 'onMissing'> {
  readonly client: Client;
  /** The release of the server where it is not the newest, for example `1.33`: nothing is asked of kinds that it does not have. */
  readonly release?: string;
  /** The life of every informer. */
  readonly signal: AbortSignal;
}

/** An informer that is used for a while. Whoever has it gives it back by disposing of it; it ends with the last who does. */
export interface Borrowed extends Disposable {
  readonly informer: SharedInformer;
}

interface Lent {
  readonly informer: SharedInformer;
  readonly stop: AbortController;
  /** Those who use it, each with what is called when the kind is not served. */
  readonly users: Set<Missed>;
}
type Missed = () => void;

/** Hands out one shared informer a selection, whoever asks. */
export class InformerFactory {
  readonly #options: InformerFactoryOptions;
  readonly #informers = new Map<string, SharedInformer>();
  readonly #lent = new Map<string, Lent>();
  #started = false;

  constructor(options: InformerFactoryOptions) {
    this.#options = options;
  }

  /** The informer of a source; it runs once the factory is started. */
  informer<T extends KubeObject>(source: Source<T>): SharedInformer<T> {
    const selection = resolveSelection(source, this.#options.client.naming);
    const known = this.#informers.get(selection.id);
    // The id holds the kind, and the kind its type.
    if (known) return known as unknown as SharedInformer<T>;
    const informer = this.#make(selection);
    this.#informers.set(selection.id, informer as unknown as SharedInformer);
    if (this.#started) informer.start(this.#options.signal);
    return informer;
  }

  /**
   * An informer of the metadata of a kind, which may be known only at run time, running at once. Where objects of the kind are followed as a whole
   * already, it is that informer, which shows more than metadata and goes on without its borrowers. So ask once the others have. `missed` is called each
   * time the server says that it does not serve the kind, or no longer.
   */
  borrowMetadata(kind: Kind, missed: Missed = () => {}): Borrowed {
    const {client} = this.#options;
    const whole = this.#informers.get(resolveSelection(kind, client.naming).id);
    if (whole) return {informer: whole, [Symbol.dispose]() {}};
    const selection = resolveSelection({kind, metadataOnly: true}, client.naming);
    const lent = this.#lent.get(selection.id) ?? this.#lend(selection);
    const user = () => missed();
    lent.users.add(user);
    return {
      informer: lent.informer,
      [Symbol.dispose]: () => {
        if (!lent.users.delete(user) || lent.users.size > 0) return;
        this.#lent.delete(selection.id);
        lent.stop.abort();
      },
    };
  }

  /** Lets every informer run, those asked for later too. */
  start(): void {
    this.#started = true;
    for (const informer of this.#informers.values()) informer.start(this.#options.signal);
  }

  /** Resolves once every informer asked for so far is synced; rejects with the signal's reason if that comes first, and with `ListRefused` when the server keeps refusing one of the lists. Borrowed ones are their borrowers' matter. */
  async whenSynced(signal: AbortSignal = this.#options.signal): Promise<void> {
    await Promise.all([...this.#informers.values()].map(informer => informer.whenSynced(signal)));
  }

  #make<T extends KubeObject>(selection: ResolvedSelection<T>, onMissing?: Missed): SharedInformer<T> {
    const {client, clock, release} = this.#options;
    const {kind, namespace, labelSelector, fieldSelector, metadataOnly} = selection;
    const isThere = release === undefined || isIntroduced(kind, release);
    return new SharedInformer<T>(isThere ? listerWatcher(client, selection) : emptyListerWatcher(client, selection, clock), {
      ...this.#options,
      name: [groupResource(client.naming, kind), namespace, labelSelector, fieldSelector, metadataOnly && 'metadata']
        .filter(Boolean)
        .join(' '),
      apiVersion: apiVersionOf(client.naming, kind),
      kind: kind.kind,
      ...(metadataOnly ? {metadataOnly} : {}),
      ...(onMissing ? {onMissing} : {}),
    });
  }

  #lend(selection: ResolvedSelection<KubeObject>): Lent {
    const {signal} = this.#options;
    const users = new Set<Missed>();
    const missed = () => [...users].forEach(user => user());
    const lent: Lent = {informer: this.#make(selection, missed), stop: new AbortController(), users};
    const ending = onAbort(signal, () => lent.stop.abort(signal.reason));
    lent.stop.signal.addEventListener('abort', () => ending[Symbol.dispose](), {once: true});
    lent.informer.start(lent.stop.signal);
    this.#lent.set(selection.id, lent);
    return lent;
  }
}
