import {isIntroduced} from '#src/api/kind.js';
import {apiVersionOf, groupResource, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {aborted, onAbort} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {emptyListerWatcher, listerWatcher} from './lister-watcher.js';
import {resolveSelection, type ResolvedSelection, type Source} from './selection.js';
import {SharedInformer, type SharedInformerOptions} from './shared.js';

export interface InformerFactoryOptions extends Omit<
  SharedInformerOptions,
  'name' | 'kind' | 'apiVersion' | 'metadataOnly' | 'shape' | 'onMissing'
> {
  readonly client: Client;
  /** The clients of other clusters, by the names that selections have. */
  readonly clusters?: Readonly<Record<string, Client>> | undefined;
  /**
   * The release of the server if it is not the newest, for example `1.33`: kinds that it does not have are not
   * requested.
   */
  readonly release?: string;
  /** Stops every informer. */
  readonly signal: AbortSignal;
}

/** The part of a factory that its users need. */
export type Informers = Pick<InformerFactory, 'informer' | 'borrowMetadata'>;

/**
 * The informers of a user that may begin and go before the others do. Disposing of it releases them all; an informer
 * stops when nobody uses it any more.
 */
export interface InformerScope extends Informers, Disposable {
  /** Starts the informers of this user, also those that it requests later. */
  start(): void;
}

/** A shared informer. */
interface Entry {
  readonly informer: SharedInformer;
  readonly stop: AbortController;
  /** The number of its users; infinite if one of them stays until the end. */
  users: number;
}

/**
 * An informer that is used temporarily. Its user releases it by disposing of it; the informer stops when its last user
 * does.
 */
export interface Borrowed extends Disposable {
  readonly informer: SharedInformer;
}

interface Lent {
  readonly informer: SharedInformer;
  readonly stop: AbortController;
  /** Its users, each as the function to call when the kind is not served. */
  readonly users: Set<Missed>;
}
type Missed = () => void;

const isComplete = ({
  namespace,
  labelSelector,
  fieldSelector,
}: Pick<ResolvedSelection<KubeObject>, 'namespace' | 'labelSelector' | 'fieldSelector'>): boolean =>
  !namespace && !labelSelector && !fieldSelector;

/** Creates informers, one for each selection, and shares them among all callers. */
export class InformerFactory {
  readonly #options: InformerFactoryOptions;
  readonly #informers = new Map<string, Entry>();
  /** The informers of all objects of a kind with their metadata, by the id of the kind. */
  readonly #complete = new Map<string, Entry>();
  readonly #lent = new Map<string, Lent>();
  #started = false;

  constructor(options: InformerFactoryOptions) {
    this.#options = options;
  }

  /** Returns the informer of a source; it runs once the factory is started, and until its end. */
  informer<T extends KubeObject>(source: Source<T>): SharedInformer<T> {
    const entry = this.#entry(source as Source);
    entry.users = Infinity;
    // The id holds the kind, and the kind its type.
    return entry.informer as unknown as SharedInformer<T>;
  }

  /** Returns a view of this factory whose informers are released when it is disposed of. */
  scope(): InformerScope {
    const used = new Set<Entry>();
    let isStarted = false;
    return {
      informer: <T extends KubeObject>(source: Source<T>) => {
        const entry = this.#entry(source as Source);
        if (!used.has(entry)) entry.users++;
        used.add(entry);
        if (isStarted) begin(entry);
        return entry.informer as unknown as SharedInformer<T>;
      },
      borrowMetadata: (kind, missed) => this.borrowMetadata(kind, missed),
      start: () => {
        isStarted = true;
        used.forEach(begin);
      },
      [Symbol.dispose]: () => {
        for (const entry of used) this.#release(entry);
        used.clear();
      },
    };
  }

  #entry(source: Source): Entry {
    const selection = resolveSelection(source, this.#options.client.naming);
    const known = this.#informers.get(selection.id);
    if (known) return known;
    const informer = this.#make(selection);
    const entry: Entry = {informer, stop: this.#stopper(), users: 0};
    this.#informers.set(selection.id, entry);
    const kindId = this.#kindId(selection.kind);
    if (isComplete(selection) && !this.#complete.has(kindId)) this.#complete.set(kindId, entry);
    if (this.#started) begin(entry);
    return entry;
  }

  #release(entry: Entry): void {
    if (--entry.users > 0) return;
    for (const entries of [this.#informers, this.#complete]) for (const [id, each] of entries) if (each === entry) entries.delete(id);
    entry.stop.abort(aborted);
  }

  /** Returns a controller that aborts with the factory's own signal, until it is aborted itself. */
  #stopper(): AbortController {
    const {signal} = this.#options;
    const stop = new AbortController();
    const ending = onAbort(signal, () => stop.abort(signal.reason));
    onAbort(stop.signal, () => ending[Symbol.dispose]());
    return stop;
  }

  /**
   * Returns a running informer of the metadata of a kind, which may be known only at run time. If an informer of all
   * objects of the kind exists already, it is returned instead and lives at least as long; so call this after the calls
   * of `informer`. `missed` is called each time the server responds that it does not serve the kind, or no longer does.
   */
  borrowMetadata(kind: Kind, missed: Missed = () => {}): Borrowed {
    const {client} = this.#options;
    const complete = this.#complete.get(this.#kindId(kind));
    if (complete) return this.#shared(complete);
    const selection = resolveSelection({kind, metadataOnly: true}, client.naming);
    const lent = this.#lent.get(selection.id) ?? this.#lend(selection);
    const user = () => missed();
    lent.users.add(user);
    return {
      informer: lent.informer,
      [Symbol.dispose]: () => {
        if (!lent.users.delete(user) || lent.users.size > 0) return;
        this.#lent.delete(selection.id);
        lent.stop.abort(aborted);
      },
    };
  }

  /** Starts every informer, also those that are requested later. */
  start(): void {
    this.#started = true;
    this.#informers.forEach(begin);
  }

  /**
   * Resolves once every informer requested so far is synced. Rejects with the signal's reason if the signal aborts
   * first, and with `ListRefused` when the server keeps refusing one of the lists. Does not wait for borrowed
   * informers.
   */
  async whenSynced(signal: AbortSignal = this.#options.signal): Promise<void> {
    await Promise.all([...this.#informers.values()].map(({informer}) => informer.whenSynced(signal)));
  }

  #shared(entry: Entry): Borrowed {
    let isHeld = true;
    entry.users++;
    begin(entry); // Its other users may wait for their start.
    return {
      informer: entry.informer,
      [Symbol.dispose]: () => {
        if (isHeld) this.#release(entry);
        isHeld = false;
      },
    };
  }

  #kindId(kind: Kind): string {
    return resolveSelection(kind, this.#options.client.naming).id;
  }

  #make<T extends KubeObject>(selection: ResolvedSelection<T>, onMissing?: Missed): SharedInformer<T> {
    const {clock, release} = this.#options;
    const client = this.#clientOf(selection.cluster);
    const {kind, namespace, labelSelector, fieldSelector, metadataOnly, shape} = selection;
    const isThere = release === undefined || isIntroduced(kind, release);
    return new SharedInformer<T>(isThere ? listerWatcher(client, selection) : emptyListerWatcher(client, selection, clock), {
      ...this.#options,
      name: [
        groupResource(client.naming, kind),
        namespace,
        labelSelector,
        fieldSelector,
        metadataOnly && 'metadata',
        shape?.name,
        selection.cluster,
      ]
        .filter(Boolean)
        .join(' '),
      apiVersion: apiVersionOf(client.naming, kind),
      kind: kind.kind,
      ...(metadataOnly ? {metadataOnly} : {}),
      ...(shape ? {shape} : {}),
      ...(onMissing ? {onMissing} : {}),
    });
  }

  #clientOf(cluster: string | undefined): Client {
    const {client, clusters = {}} = this.#options;
    const found = cluster === undefined ? client : clusters[cluster];
    if (!found) throw new Error(`there is no cluster "${cluster}": its client is not given`);
    return found;
  }

  #lend(selection: ResolvedSelection<KubeObject>): Lent {
    const users = new Set<Missed>();
    const missed = () => [...users].forEach(user => user());
    const lent: Lent = {informer: this.#make(selection, missed), stop: this.#stopper(), users};
    lent.informer.start(lent.stop.signal);
    this.#lent.set(selection.id, lent);
    return lent;
  }
}

const begin = ({informer, stop}: Entry): void => informer.start(stop.signal);
