import {refersTo, type Identity, type Owner} from './identity.js';

const noDependents: ReadonlySet<Node> = new Set();

/** An object in the graph. Only the graph modifies it. */
export class Node {
  identity: Identity;
  /** As in the object's metadata. */
  owners: readonly Owner[];
  /** Its deletion has begun, which is final. */
  beingDeleted = false;
  /** Its deletion waits for its dependents. */
  deletingDependents = false;
  /** Not observed yet: known only by references of others, which may be incorrect. */
  virtual: boolean;
  #dependents = noDependents;

  constructor(identity: Identity, {owners = [], virtual = false}: {readonly owners?: readonly Owner[]; readonly virtual?: boolean} = {}) {
    this.identity = identity;
    this.owners = owners;
    this.virtual = virtual;
  }

  /** The objects that refer to it as an owner. */
  get dependents(): ReadonlySet<Node> {
    return this.#dependents;
  }

  addDependent(dependent: Node): void {
    // Most objects have none.
    if (this.#dependents === noDependents) this.#dependents = new Set();
    (this.#dependents as Set<Node>).add(dependent);
  }

  removeDependent(dependent: Node): void {
    if (this.#dependents !== noDependents) (this.#dependents as Set<Node>).delete(dependent);
  }
}

/** Returns the dependents that block the deletion of their owner. */
export const blockingDependents = ({identity: {uid}, dependents}: Node): Node[] =>
  [...dependents].filter(({owners}) => owners.some(owner => owner.uid === uid && owner.blockOwnerDeletion));

/**
 * Partitions dependents by whether their references match the owner's identity. One with several references can be in
 * both.
 */
export const partitionDependents = (
  dependents: Iterable<Node>,
  owner: Identity,
): {readonly agreeing: Node[]; readonly disagreeing: Node[]} => {
  const matching: Node[] = [];
  const nonmatching: Node[] = [];
  for (const dependent of dependents) {
    const isElsewhere = owner.namespace !== '' && owner.namespace !== dependent.identity.namespace;
    const references = dependent.owners.filter(({uid}) => uid === owner.uid);
    if (!isElsewhere && references.some(reference => refersTo(reference, owner))) matching.push(dependent);
    if (isElsewhere || references.some(reference => !refersTo(reference, owner))) nonmatching.push(dependent);
  }
  return {agreeing: matching, disagreeing: nonmatching};
};
