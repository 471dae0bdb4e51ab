// The clients of a reconcile: that of the manager's own cluster, and those of other clusters by name.

import {keyOf, type ObjectKey} from '#src/api/key.js';
import {apiVersionOf, type Kind} from '#src/api/kinds/index.js';
import type {Clock} from '#src/base/clock.js';
import type {Client as ResourceClients} from '#src/client/client.js';
import type {Caches} from './caches.js';
import {AppliedConfigurations} from './client/applied.js';
import type {Client} from './client/client.js';
import {KindResolver} from './client/kind-resolver.js';
import type {AnyObject, Stored} from './client/objects.js';
import {TypedClient, type ReconcileParts} from './client/typed-client.js';
import {notingClient} from './noting-client.js';
import type {OwnWrites} from './own-writes.js';
import {isCached, type ManagerScope} from './scope.js';
import {clusterOf, kindOf, sameKind, type Source} from './sources.js';

export interface ReconcileClientsParts {
  readonly name: string;
  readonly primary: Source;
  readonly owns: readonly Source[];
  readonly sources: readonly Source[];
  readonly caches: Caches;
  readonly scope: ManagerScope;
  readonly client: ResourceClients;
  readonly clock: Clock;
  /** Calls `act`, whose writes are recorded as those of the reconcile of a key. */
  recordedAs<T>(key: ObjectKey, act: () => T): T;
}

/** What the client of one cluster keeps from reconcile to reconcile. */
interface ClusterParts {
  readonly client: ResourceClients;
  readonly resolver: KindResolver;
  readonly cached: ReconcileParts['cached'];
}

export class ReconcileClients {
  readonly #parts: ReconcileClientsParts;
  readonly #writes: OwnWrites;
  readonly #applied = new AppliedConfigurations();
  readonly #clusters: ReadonlyMap<string | undefined, ClusterParts>;

  constructor(parts: ReconcileClientsParts, writes: OwnWrites) {
    this.#parts = parts;
    this.#writes = writes;
    const {client, scope, sources} = parts;
    const all: [string | undefined, ResourceClients][] = [[undefined, client], ...Object.entries(scope.clusters ?? {})];
    this.#clusters = new Map(
      all.map(([name, each]) => {
        const own = sources.filter(source => clusterOf(source) === name);
        return [name, {client: each, resolver: new KindResolver(each, own.map(kindOf)), cached: this.#cachedBy(own)}];
      }),
    );
  }

  /** Returns the client of the manager's cluster for the reconcile of a key. `object` owns what is written. */
  of(key: ObjectKey, object: Stored | undefined, signal: AbortSignal): Client {
    return this.#client(undefined, {key, object, signal})!;
  }

  #client(
    cluster: string | undefined,
    of: {readonly key: ObjectKey; readonly object: Stored | undefined; readonly signal: AbortSignal},
  ): Client | undefined {
    const found = this.#clusters.get(cluster);
    if (!found) return undefined;
    const {client, resolver, cached} = found;
    const {name, clock, recordedAs} = this.#parts;
    return new TypedClient({
      client: notingClient(client, {writes: this.#writes, key: of.key, cluster, recordedAs}),
      clock,
      fieldManager: name,
      resolver,
      signal: of.signal,
      reconcile: {applied: this.#applied, cached, ownerOf: this.#ownerOf(of.object, cluster)},
      cluster: other => this.#client(other, of),
    });
  }

  /** Returns the lookup of cached objects by kind, for kinds with exactly one declared source. */
  #cachedBy(sources: readonly Source[]): ReconcileParts['cached'] {
    const {caches, scope} = this.#parts;
    return (kind, key) => {
      const [source, ...more] = sources.filter(each => sameKind(kindOf(each), kind));
      return source && more.length === 0 && isCached(source, scope, key) ? {object: caches.get(source, key)} : undefined;
    };
  }

  /** Returns the lookup of owner references for kinds that the controller owns, in the cluster of its objects. */
  #ownerOf(object: Stored | undefined, cluster: string | undefined): ReconcileParts['ownerOf'] {
    const {primary, owns} = this.#parts;
    return kind => {
      const isOwned = owns.map(kindOf).some(({group, plural}) => group === kind.group && plural === kind.plural);
      if (!object || !isOwned || clusterOf(primary) !== cluster) return undefined;
      const {kind: ownKind} = kindOf(primary);
      const {name, uid} = object.metadata;
      const apiVersion = apiVersionOf(this.#clusters.get(cluster)!.client.naming, kindOf(primary) as Kind);
      return {
        reference: {apiVersion, kind: ownKind, name, uid, controller: true, blockOwnerDeletion: true},
        namespace: keyOf(object as AnyObject).namespace,
      };
    };
  }
}
