import type {Change} from '#informers/change.js';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {AbsentOwners} from './absent-owners.js';
import {identityOf, refersTo, sameIdentity, type Identity, type Owner} from './identity.js';
import {byAgreement, Node} from './node.js';
import {alternativeTo, ownerChanges, unblocked} from './references.js';

/** The finalizers that say what becomes of dependents. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** What the graph asks for when it changes. */
export interface GraphListener {
  /** The node might have to go. */
  suspect(node: Node): void;
  /** The same, but not at once: it was looked at just now. */
  suspectLater(node: Node): void;
  /** The node's dependents are to be parted from it. */
  orphan(node: Node): void;
  /** `dependent` names an owner that lives in another namespace. */
  strayed(dependent: Node, owner: Owner): void;
}

type Metadata = Frozen<NonNullable<KubeObject['metadata']>>;

const noOwners: readonly Owner[] = [];

const isDying = (metadata: Metadata): boolean => Boolean(metadata.deletionTimestamp);
const awaits = (metadata: Metadata, finalizer: string): boolean => isDying(metadata) && (metadata.finalizers ?? []).includes(finalizer);
const begins = (finalizer: string, now: Metadata, before: Metadata | undefined): boolean => awaits(now, finalizer) && !(before && awaits(before, finalizer));

/**
 * Who owns whom, over everything the server holds. It follows what informers tell, which may come in any order and late: an owner that nobody has seen yet
 * has a virtual node, whose dependents may not even agree on who it is. So the graph only ever says what is worth a look; the server has the last word.
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

  /** Takes in what an informer told of an object of that kind. */
  take(change: Change, {apiVersion, kind}: Pick<Identity, 'apiVersion' | 'kind'>): void {
    const {metadata} = change.object;
    if (!metadata?.uid) return;
    const identity = {apiVersion, kind, namespace: metadata.namespace ?? '', name: metadata.name ?? '', uid: metadata.uid};
    const known = this.#nodes.get(identity.uid);
    const isNews = !known || known.virtual;
    if (known?.virtual) this.#reveal(known, identity);
    if (change.type === 'deleted') {
      if (known) this.#remove(known, identity);
      return;
    }
    const owners = metadata.ownerReferences ?? noOwners;
    const node = known ?? new Node(identity, {owners});
    if (known) this.#update(node, identity, owners);
    else this.#insert(node);
    if (isDying(metadata)) node.beingDeleted = true;
    this.#beginDeletion(node, metadata, change.type === 'updated' && !isNews ? change.old.metadata : undefined);
  }

  /** Takes in that the server knows no object of that identity. A node that was seen as another is not concerned, but some of its dependents may be. */
  missing(identity: Identity): void {
    const known = this.#nodes.get(identity.uid);
    if (!known) return;
    const {agreeing, disagreeing} = byAgreement(known.dependents, identity);
    const isOther = known.virtual ? disagreeing.length > 0 : !sameIdentity(known.identity, identity);
    if (!isOther) return this.#remove(known, identity);
    if (agreeing.length > 0) {
      this.absent.add(identity);
      for (const dependent of agreeing) this.#listener.suspect(dependent);
    }
    if (!known.virtual || !sameIdentity(known.identity, identity)) return;
    const alternative = alternativeTo(identity, disagreeing);
    if (!alternative) return;
    known.identity = alternative;
    this.#listener.suspectLater(known);
  }

  #insert(node: Node): void {
    this.#nodes.set(node.identity.uid, node);
    this.#join(node, node.owners);
  }

  /** A virtual node is seen at last. Whoever took it for another has a reference worth a look. */
  #reveal(node: Node, identity: Identity): void {
    node.virtual = false;
    if (sameIdentity(node.identity, identity)) return;
    for (const dependent of byAgreement(node.dependents, identity).disagreeing) {
      if (identity.namespace !== '' && dependent.identity.namespace !== identity.namespace) this.#stray(dependent, identity.uid);
      this.#listener.suspect(dependent);
    }
    node.identity = identity;
  }

  #update(node: Node, identity: Identity, owners: readonly Owner[]): void {
    // The same object may come to be served in another version, or as another kind.
    if (node.identity.apiVersion !== identity.apiVersion || node.identity.kind !== identity.kind) node.identity = identity;
    const changes = ownerChanges(node.owners, owners);
    node.owners = owners;
    for (const uid of unblocked(changes)) this.#suspectUid(uid);
    this.#join(node, changes.added);
    this.#part(node, changes.removed);
  }

  #beginDeletion(node: Node, now: Metadata, before: Metadata | undefined): void {
    if (begins(orphanFinalizer, now, before)) return this.#listener.orphan(node);
    if (!begins(foregroundFinalizer, now, before)) return;
    node.deletingDependents = true;
    for (const dependent of node.dependents) this.#listener.suspect(dependent);
    this.#listener.suspect(node);
  }

  #remove(node: Node, identity: Identity): void {
    this.#nodes.delete(node.identity.uid);
    this.#part(node, node.owners);
    if (node.dependents.size > 0) this.absent.add(identity);
    for (const dependent of node.dependents) this.#listener.suspect(dependent);
    // An owner that waits for its dependents may have waited for this one.
    for (const {uid} of node.owners) if (this.#nodes.get(uid)?.deletingDependents) this.#suspectUid(uid);
  }

  /** Makes the node a dependent of these owners, which need not have been seen. A reference that does not fit its owner is worth a look. */
  #join(node: Node, owners: readonly Owner[]): void {
    let isDoubtful = false;
    for (const owner of owners) {
      let known = this.#nodes.get(owner.uid);
      const isNew = !known;
      if (!known) {
        known = new Node(identityOf(owner, node.identity.namespace), {virtual: true});
        this.#nodes.set(owner.uid, known);
      }
      known.addDependent(node);
      if (isNew) this.#listener.suspect(known);
      else if (!isDoubtful) isDoubtful = this.#isDoubtful(node, owner, known);
    }
    if (isDoubtful) this.#listener.suspect(node);
  }

  #isDoubtful(node: Node, owner: Owner, {identity, virtual}: Node): boolean {
    const isElsewhere = identity.namespace !== node.identity.namespace;
    if (identity.namespace !== '' && isElsewhere) {
      if (!virtual) this.#stray(node, owner.uid);
      return true;
    }
    // One without namespace that nobody saw may be of a kind with namespaces, wrongly named by something without.
    return !refersTo(owner, identity) || (isElsewhere && virtual);
  }

  #part(node: Node, owners: readonly Owner[]): void {
    for (const {uid} of owners) this.#nodes.get(uid)?.removeDependent(node);
  }

  #suspectUid(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node) this.#listener.suspect(node);
  }

  #stray(dependent: Node, uid: string): void {
    const owner = dependent.owners.find(each => each.uid === uid);
    if (owner) this.#listener.strayed(dependent, owner);
  }
}
