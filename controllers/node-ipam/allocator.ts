import type {CidrSet} from './cidr-set.js';

/** The CIDRs allocated to nodes. */
export interface Allocator {
  /** Records the CIDRs of a node, one of each set in order. Throws when one is outside its set, or has no set. */
  occupy(node: string, cidrs: readonly string[]): void;
  /**
   * Returns one CIDR of each set: those the node has already, or new ones. Undefined, with nothing allocated, when a
   * set is exhausted.
   */
  propose(node: string): readonly string[] | undefined;
  /** Releases the CIDRs of a node, except those that another node has too. */
  release(node: string): void;
}

/**
 * CIDRs are held by node name, so that each is released only once: one that another node has meanwhile stays with it,
 * and an allocation with an unknown outcome is repeated rather than lost.
 */
export const allocator = (sets: readonly CidrSet[]): Allocator => {
  const held = new Map<string, readonly string[]>();
  const holders = new Map<string, Set<string>>();

  const release = (node: string): void => {
    const cidrs = held.get(node);
    held.delete(node);
    for (const [at, cidr] of (cidrs ?? []).entries()) {
      const others = holders.get(cidr);
      others?.delete(node);
      if (others?.size) continue;
      holders.delete(cidr);
      sets[at]?.release(cidr);
    }
  };

  const hold = (node: string, cidrs: readonly string[]): void => {
    held.set(node, cidrs);
    for (const cidr of cidrs) {
      const all = holders.get(cidr);
      if (all) all.add(node);
      else holders.set(cidr, new Set([node]));
    }
  };

  return {
    release,
    occupy(node, cidrs) {
      // A node without CIDRs is still to be allocated some.
      if (cidrs.length === 0) return release(node);
      const before = held.get(node);
      if (before?.length === cidrs.length && before.every((cidr, at) => cidr === cidrs[at])) return;
      for (const [at, cidr] of cidrs.entries()) {
        const set = sets[at];
        if (!set)
          throw new Error(`node:${node} has an allocated cidr: ${cidr} at index:${at} that does not exist in cluster cidrs configuration`);
        set.occupy(cidr);
      }
      release(node);
      for (const [at, cidr] of cidrs.entries()) sets[at]!.occupy(cidr); // Released CIDRs may be among the current ones.
      hold(node, cidrs);
    },
    propose(node) {
      const before = held.get(node);
      if (before) return before;
      const cidrs: string[] = [];
      for (const set of sets) {
        const cidr = set.allocateNext();
        if (cidr === undefined) {
          for (const [at, taken] of cidrs.entries()) sets[at]!.release(taken);
          return undefined;
        }
        cidrs.push(cidr);
      }
      hold(node, cidrs);
      return cidrs;
    },
  };
};
