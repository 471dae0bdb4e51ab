// The config maps and secrets that the pods of a node refer to.

import type {InformerFactory, InformerScope} from '#informers/factory.js';
import type {SharedInformer} from '#informers/shared.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {notFound} from '#src/api/status.js';
import type {ConfigMap, KubeObject, Secret} from '#src/api/types.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import {firstOf} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {configMapNamesOf} from '#src/model/pod/config-map-names.js';
import {secretNamesOf} from '#src/model/pod/secret-names.js';

/** Reads objects that pods refer to. Rejects with `NotFound` for a missing one. */
export interface PodObjects {
  configMap(namespace: string, name: string): Promise<Frozen<ConfigMap>>;
  secret(namespace: string, name: string): Promise<Frozen<Secret>>;
  /** Called with a new or changed pod: the objects that it refers to are refreshed. */
  register(pod: Frozen<Pod>): void;
  unregister(uid: string): void;
}

/** The strategy of reads: watches, a cache with a time to live, or a request each time. */
export type ReadStrategy = 'Watch' | 'Cache' | 'Get';

export interface PodObjectsParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly strategy: ReadStrategy;
  /** Creates the informers of watches. */
  readonly informers: Pick<InformerFactory, 'scope'>;
  /** Returns the time to live of a cached object, in ms. */
  cacheMs(): number;
}

/** The timeout of the first list of a watch, and the idle time after which a watch is stopped. */
const firstListMs = 1_000;
const idleMs = 60_000;

interface Source<T extends KubeObject> {
  get(namespace: string, name: string): Promise<Frozen<T>>;
  invalidate(namespace: string, name: string): void;
  /** Called with the keys that pods refer to. */
  keep(keys: ReadonlySet<string>): void;
}

const keyText = (namespace: string, name: string): string => `${namespace}/${name}`;

interface Watched<T extends KubeObject> {
  readonly informer: SharedInformer<T>;
  readonly scope: InformerScope;
  readAt: number;
}

/** One watch per object, while it is being read. */
class WatchSource<T extends KubeObject & {immutable?: boolean}> implements Source<T> {
  readonly #parts: PodObjectsParts;
  readonly #kind: Kind<T>;
  readonly #watched = new Map<string, Watched<T>>();
  /** Immutable objects, which need no watch. */
  readonly #immutable = new Map<string, Frozen<T>>();

  constructor(parts: PodObjectsParts, kind: Kind<T>) {
    this.#parts = parts;
    this.#kind = kind;
    runEvery(parts.clock, idleMs, parts.signal, () => this.#stopIdle());
  }

  async get(namespace: string, name: string): Promise<Frozen<T>> {
    const key = keyText(namespace, name);
    const constant = this.#immutable.get(key);
    if (constant) return constant;
    const watched = this.#watched.get(key) ?? this.#watch(namespace, name);
    watched.readAt = this.#parts.clock.monotonic();
    await this.#synced(watched);
    const found = watched.informer.lister.get(key);
    if (!found) throw notFound({group: '', resource: this.#kind.kind.toLowerCase()}, name);
    if (found.immutable) {
      this.#immutable.set(key, found);
      this.#stop(key);
    }
    return found;
  }

  invalidate(): void {}

  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#watched.keys()) if (!keys.has(key)) this.#stop(key);
    for (const key of this.#immutable.keys()) if (!keys.has(key)) this.#immutable.delete(key);
  }

  #watch(namespace: string, name: string): Watched<T> {
    const scope = this.#parts.informers.scope();
    const informer = scope.informer({kind: this.#kind, namespace, fieldSelector: `metadata.name=${name}`});
    const watched = {informer, scope, readAt: 0};
    this.#watched.set(keyText(namespace, name), watched);
    return watched;
  }

  async #synced({informer}: Watched<T>): Promise<void> {
    const {clock, signal} = this.#parts;
    const late = new AbortController();
    using linked = firstOf(signal, late.signal);
    const timer = clock.schedule(firstListMs, () => late.abort());
    try {
      await informer.whenSynced(linked.signal);
    } catch (error) {
      if (!late.signal.aborted) throw error;
      throw new Error(`failed to sync ${this.#kind.kind.toLowerCase()} cache: timed out waiting for the condition`, {cause: error});
    } finally {
      timer[Symbol.dispose]();
    }
  }

  #stopIdle(): void {
    const before = this.#parts.clock.monotonic() - idleMs;
    for (const [key, {readAt}] of this.#watched) if (readAt <= before) this.#stop(key);
  }

  #stop(key: string): void {
    this.#watched.get(key)?.scope[Symbol.dispose]();
    this.#watched.delete(key);
  }
}

/** Reads objects with requests, through a cache if a time to live is given. */
class ReadSource<T extends KubeObject> implements Source<T> {
  readonly #parts: PodObjectsParts;
  readonly #kind: Kind<T>;
  readonly #cached = new Map<string, {readonly object: Frozen<T>; readonly at: number}>();

  constructor(parts: PodObjectsParts, kind: Kind<T>) {
    this.#parts = parts;
    this.#kind = kind;
  }

  async get(namespace: string, name: string): Promise<Frozen<T>> {
    const {client, clock, strategy, cacheMs} = this.#parts;
    const key = keyText(namespace, name);
    const cached = this.#cached.get(key);
    if (cached && clock.monotonic() - cached.at < cacheMs()) return cached.object;
    const object = (await client.resource(this.#kind).get(name, {namespace})) as Frozen<T>;
    if (strategy === 'Cache') this.#cached.set(key, {object, at: clock.monotonic()});
    return object;
  }

  invalidate(namespace: string, name: string): void {
    this.#cached.delete(keyText(namespace, name));
  }

  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#cached.keys()) if (!keys.has(key)) this.#cached.delete(key);
  }
}

interface References {
  readonly namespace: string;
  readonly configMaps: readonly string[];
  readonly secrets: readonly string[];
}

/** Returns the reader of objects that the pods of the node refer to. Objects without references are dropped. */
export const podObjects = (parts: PodObjectsParts): PodObjects => {
  const source = <T extends KubeObject>(kind: Kind<T>): Source<T> =>
    parts.strategy === 'Watch' ? new WatchSource(parts, kind) : new ReadSource(parts, kind);
  const configMaps = source<ConfigMap>(kinds.configMaps);
  const secrets = source<Secret>(kinds.secrets);
  const pods = new Map<string, References>();
  const keysOf = (list: 'configMaps' | 'secrets'): ReadonlySet<string> =>
    new Set([...pods.values()].flatMap(references => references[list].map(name => keyText(references.namespace, name))));
  return {
    configMap: (namespace, name) => configMaps.get(namespace, name),
    secret: (namespace, name) => secrets.get(namespace, name),
    register({metadata: {uid = '', namespace = ''} = {}, spec}) {
      const references = {namespace, configMaps: configMapNamesOf(spec as PodSpec), secrets: secretNamesOf(spec as PodSpec)};
      pods.set(uid, references);
      for (const name of references.configMaps) configMaps.invalidate(namespace, name);
      for (const name of references.secrets) secrets.invalidate(namespace, name);
    },
    unregister(uid) {
      if (!pods.delete(uid)) return;
      configMaps.keep(keysOf('configMaps'));
      secrets.keep(keysOf('secrets'));
    },
  };
};
