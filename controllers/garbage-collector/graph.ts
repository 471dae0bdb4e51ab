import type {Change} from '#informers/change.js';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {AbsentOwners} from './absent-owners.js';
import {identityOf, refersTo, sameIdentity, type Identity, type Owner} from './identity.js';
import {partitionDependents, Node} from './node.js';
import {alternativeTo, ownerChanges, unblocked} from './references.js';

/** The finalizers that determine what happens to dependents. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** Called by the graph when it changes. */
export interface GraphListener {
  /** The node may have to be deleted. */
  attemptToDelete(node: Node): void;
  /** The same, after a backoff: it was processed just now. */
  attemptToDeleteLater(node: Node): void;
  /** The node's dependents are to be orphaned. */
  attemptToOrphan(node: Node): void;
  /** `dependent` refers to an owner in another namespace. */
  ownerInOtherNamespace(dependent: Node, owner: Owner): void;
}

type Metadata = Frozen<NonNullable<KubeObject['metadata']>>;

const noOwners: readonly Owner[] = [];

const isBeingDeleted = (metadata: Metadata): boolean => Boolean(metadata.deletionTimestamp);
const awaits = (metadata: Metadata, finalizer: string): boolean =>
  isBeingDeleted(metadata) && (metadata.finalizers ?? []).includes(finalizer);
const begins = (finalizer: string, now: Metadata, before: Metadata | undefined): boolean =>
  awaits(now, finalizer) && !(before && awaits(before, finalizer));

/**
 * The graph of owner references over all objects. It is fed by informers, whose events arrive in any order and late: an
 * owner that has not been observed yet is a virtual node, and its dependents may disagree on its identity. So the graph
 * only finds candidates; decisions are based on live reads.
 */
export class Graph {
  readonly absent: AbsentOwners;
  readonly #nodes = new Map<string, Node>();
  readonly #listener: GraphListener;

  constructor(absent: AbsentOwners, listener: GraphListener) {
    this.absent = absent;
    this.#listener = listener;
  }

  get(uid: string): Node | undefined {
    return this.#nodes.get(uid);
  }

  get nodes(): Iterable<Node> {
    return this.#nodes.values();
  }

  /** Processes an informer's change of an object of that kind. */
  processChange(change: Change, {apiVersion, kind}: Pick<Identity, 'apiVersion' | 'kind'>): void {
    const {metadata} = change.object;
    if (!metadata?.uid) return;
    const identity = {apiVersion, kind, namespace: metadata.namespace ?? '', name: metadata.name ?? '', uid: metadata.uid};
    const known = this.#nodes.get(identity.uid);
    const isFirstObservation = !known || known.virtual;
    if (known?.virtual) this.#observe(known, identity);
    if (change.type === 'deleted') {
      if (known) this.#remove(known, identity);
      return;
    }
    const owners = metadata.ownerReferences ?? noOwners;
    const node = known ?? new Node(identity, {owners});
    if (known) this.#update(node, identity, owners);
    else this.#insert(node);
    if (isBeingDeleted(metadata)) node.beingDeleted = true;
    this.#beginDeletion(node, metadata, change.type === 'updated' && !isFirstObservation ? change.old.metadata : undefined);
  }

  /**
   * Called when the server has no object of that identity. A node observed under another identity stays, but some of
   * its dependents are queued.
   */
  missing(identity: Identity): void {
    const known = this.#nodes.get(identity.uid);
    if (!known) return;
    const {agreeing, disagreeing} = partitionDependents(known.dependents, identity);
    const isOther = known.virtual ? disagreeing.length > 0 : !sameIdentity(known.identity, identity);
    if (!isOther) return this.#remove(known, identity);
    if (agreeing.length > 0) {
      this.absent.add(identity);
      for (const dependent of agreeing) this.#listener.attemptToDelete(dependent);
    }
    if (!known.virtual || !sameIdentity(known.identity, identity)) return;
    const alternative = alternativeTo(identity, disagreeing);
    if (!alternative) return;
    known.identity = alternative;
    this.#listener.attemptToDeleteLater(known);
  }

  #insert(node: Node): void {
    this.#nodes.set(node.identity.uid, node);
    this.#addDependents(node, node.owners);
  }

  /** Called when a virtual node is observed. Dependents that refer to another identity are queued. */
  #observe(node: Node, identity: Identity): void {
    node.virtual = false;
    if (sameIdentity(node.identity, identity)) return;
    for (const dependent of partitionDependents(node.dependents, identity).disagreeing) {
      if (identity.namespace !== '' && dependent.identity.namespace !== identity.namespace)
        this.#reportOtherNamespace(dependent, identity.uid);
      this.#listener.attemptToDelete(dependent);
    }
    node.identity = identity;
  }

  #update(node: Node, identity: Identity, owners: readonly Owner[]): void {
    // An object may be served in another version, or as another kind.
    if (node.identity.apiVersion !== identity.apiVersion || node.identity.kind !== identity.kind) node.identity = identity;
    const changes = ownerChanges(node.owners, owners);
    node.owners = owners;
    for (const uid of unblocked(changes)) this.#enqueueUid(uid);
    this.#addDependents(node, changes.added);
    this.#removeDependents(node, changes.removed);
  }

  #beginDeletion(node: Node, now: Metadata, before: Metadata | undefined): void {
    if (begins(orphanFinalizer, now, before)) return this.#listener.attemptToOrphan(node);
    if (!begins(foregroundFinalizer, now, before)) return;
    node.deletingDependents = true;
    for (const dependent of node.dependents) this.#listener.attemptToDelete(dependent);
    this.#listener.attemptToDelete(node);
  }

  #remove(node: Node, identity: Identity): void {
    this.#nodes.delete(node.identity.uid);
    this.#removeDependents(node, node.owners);
    if (node.dependents.size > 0) this.absent.add(identity);
    for (const dependent of node.dependents) this.#listener.attemptToDelete(dependent);
    // An owner that waits for its dependents may have waited for this one.
    for (const {uid} of node.owners) if (this.#nodes.get(uid)?.deletingDependents) this.#enqueueUid(uid);
  }

  /**
   * Adds the node as a dependent of its owners, creating virtual nodes. A reference that does not match its owner is
   * queued.
   */
  #addDependents(node: Node, owners: readonly Owner[]): void {
    let isInconsistent = false;
    for (const owner of owners) {
      let known = this.#nodes.get(owner.uid);
      const isNew = !known;
      if (!known) {
        known = new Node(identityOf(owner, node.identity.namespace), {virtual: true});
        this.#nodes.set(owner.uid, known);
      }
      known.addDependent(node);
      if (isNew) this.#listener.attemptToDelete(known);
      else if (!isInconsistent) isInconsistent = this.#isInconsistent(node, owner, known);
    }
    if (isInconsistent) this.#listener.attemptToDelete(node);
  }

  #isInconsistent(node: Node, owner: Owner, {identity, virtual}: Node): boolean {
    const isElsewhere = identity.namespace !== node.identity.namespace;
    if (identity.namespace !== '' && isElsewhere) {
      if (!virtual) this.#reportOtherNamespace(node, owner.uid);
      return true;
    }
    // A virtual node without namespace may be of a namespaced kind, with an invalid reference from a cluster-scoped
    // object.
    return !refersTo(owner, identity) || (isElsewhere && virtual);
  }

  #removeDependents(node: Node, owners: readonly Owner[]): void {
    for (const {uid} of owners) this.#nodes.get(uid)?.removeDependent(node);
  }

  #enqueueUid(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node) this.#listener.attemptToDelete(node);
  }

  #reportOtherNamespace(dependent: Node, uid: string): void {
    const owner = dependent.owners.find(each => each.uid === uid);
    if (owner) this.#listener.ownerInOtherNamespace(dependent, owner);
  }
}
