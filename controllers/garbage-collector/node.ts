import {refersTo, type Identity, type Owner} from './identity.js';

const noDependents: ReadonlySet<Node> = new Set();

/** An object in the graph. Only the graph changes it. */
export class Node {
  identity: Identity;
  /** As the object names them. */
  owners: readonly Owner[];
  /** Its deletion has begun. There is no way back. */
  beingDeleted = false;
  /** Its deletion has begun and waits for that of its dependents. */
  deletingDependents = false;
  /** Nobody has seen the object yet: it is there because others name it. What they say of it may be wrong. */
  virtual: boolean;
  #dependents = noDependents;

  constructor(identity: Identity, {owners = [], virtual = false}: {readonly owners?: readonly Owner[]; readonly virtual?: boolean} = {}) {
    this.identity = identity;
    this.owners = owners;
    this.virtual = virtual;
  }

  /** Those that name it as an owner. */
  get dependents(): ReadonlySet<Node> {
    return this.#dependents;
  }

  addDependent(dependent: Node): void {
    // Most objects never have any.
    if (this.#dependents === noDependents) this.#dependents = new Set();
    (this.#dependents as Set<Node>).add(dependent);
  }

  removeDependent(dependent: Node): void {
    if (this.#dependents !== noDependents) (this.#dependents as Set<Node>).delete(dependent);
  }
}

/** The dependents that hold up the deletion of their owner. */
export const blockingDependents = ({identity: {uid}, dependents}: Node): Node[] =>
  [...dependents].filter(({owners}) => owners.some(owner => owner.uid === uid && owner.blockOwnerDeletion));

/** Dependents by whether they mean that very owner. One with several references can be on both sides. */
export const partitionDependents = (dependents: Iterable<Node>, owner: Identity): {readonly agreeing: Node[]; readonly disagreeing: Node[]} => {
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
