import {unlessMissing} from '#src/client/missing.js';
import type {KubeObject} from '#src/api/types.js';
import {foregroundFinalizer, orphanFinalizer, type Graph} from './graph.js';
import {identityOf, type Identity, type Owner} from './identity.js';
import {OwnerNeedsNamespace, type KindMap} from './kind-map.js';
import {unblockingOwners, withoutOwners, type Live} from './live.js';
import {blockingDependents, type Node} from './node.js';

export interface CollectorParts {
  readonly graph: Graph;
  readonly live: Live;
  readonly kinds: KindMap;
  /** Queues a node. */
  enqueue(node: Node): void;
}

/** Whether the object was found, and its owners were processed. */
export type ProcessResult = 'done' | 'missing';

/** The owners of an object by state: existing, missing, or waiting for their dependents' deletion. */
interface Owners {
  readonly solid: readonly Owner[];
  readonly dangling: readonly Owner[];
  readonly waiting: readonly Owner[];
}

/** Deletes objects whose owners are gone. Decisions are based on live reads. */
export class Collector {
  readonly #parts: CollectorParts;

  constructor(parts: CollectorParts) {
    this.#parts = parts;
  }

  /** Rejects when it must be retried; with `OwnerNeedsNamespace` a retry is useless. */
  async process(node: Node): Promise<ProcessResult> {
    if (node.beingDeleted && !node.deletingDependents) return 'done';
    // The graph may correct the node's identity meanwhile; this attempt keeps using the one it began with.
    const {identity} = node;
    const live = await unlessMissing(this.#parts.live.get(identity));
    if (live?.metadata?.uid !== identity.uid) return this.#missing(identity);
    if (node.deletingDependents) return this.#awaitDependents(node, identity);

    const owners = await this.#classify(identity, live.metadata.ownerReferences ?? []);
    if (owners.solid.length > 0) return this.#removeOwners(identity, [...owners.dangling, ...owners.waiting]);
    if (owners.dangling.length === 0 && owners.waiting.length === 0) return 'done';
    if (owners.waiting.length === 0 || node.dependents.size === 0) return this.#delete(identity, live, policyOf(live));
    // Owners and dependents that wait for each other would deadlock.
    const isCircle = [...node.dependents].some(({deletingDependents}) => deletingDependents);
    if (isCircle) await this.#parts.live.patchOwners(identity, unblockingOwners(node.owners));
    return this.#delete(identity, live, 'Foreground');
  }

  /** Removes the foreground finalizer of an object once no dependent blocks it. */
  async #awaitDependents(node: Node, identity: Identity): Promise<ProcessResult> {
    const blocking = blockingDependents(node);
    if (blocking.length === 0) await this.#parts.live.removeFinalizer(identity, foregroundFinalizer);
    // Dependents that are being deleted are not queued.
    for (const dependent of blocking) if (!dependent.beingDeleted) this.#parts.enqueue(dependent);
    return 'done';
  }

  /** Removes owner references to missing owners, and to waiting ones, which would be blocked otherwise. */
  async #removeOwners(identity: Identity, owners: readonly Owner[]): Promise<ProcessResult> {
    if (owners.length > 0) await this.#parts.live.patchOwners(identity, withoutOwners(owners.map(({uid}) => uid)));
    return 'done';
  }

  async #delete(identity: Identity, seen: KubeObject, policy: 'Orphan' | 'Foreground' | 'Background'): Promise<ProcessResult> {
    const deleted = await unlessMissing(this.#parts.live.delete(identity, seen, policy).then(() => true));
    return deleted ? 'done' : this.#missing(identity);
  }

  #missing(identity: Identity): ProcessResult {
    this.#parts.graph.missing(identity);
    return 'missing';
  }

  async #classify(item: Identity, owners: readonly Owner[]): Promise<Owners> {
    const found: {readonly [K in keyof Owners]: Owner[]} = {solid: [], dangling: [], waiting: []};
    for (const owner of owners) found[await this.#stateOf(owner, item)].push(owner);
    return found;
  }

  async #stateOf(owner: Owner, item: Identity): Promise<keyof Owners> {
    const {absent} = this.#parts.graph;
    const anywhere = identityOf(owner, '');
    const here = identityOf(owner, item.namespace);
    if (absent.has(anywhere) || absent.has(here)) return 'dangling';
    const {namespaced} = this.#parts.kinds.of(owner);
    if (namespaced && item.namespace === '') throw new OwnerNeedsNamespace(here);
    const identity = namespaced ? here : anywhere;
    const live = await unlessMissing(this.#parts.live.get(identity));
    if (live?.metadata?.uid === owner.uid)
      return live.metadata.deletionTimestamp && live.metadata.finalizers?.includes(foregroundFinalizer) ? 'waiting' : 'solid';
    absent.add(identity);
    return 'dangling';
  }
}

/** An earlier deletion may have set the propagation policy by a finalizer. */
const policyOf = ({metadata}: KubeObject): 'Orphan' | 'Foreground' | 'Background' => {
  if (metadata?.finalizers?.includes(orphanFinalizer)) return 'Orphan';
  return metadata?.finalizers?.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
};
