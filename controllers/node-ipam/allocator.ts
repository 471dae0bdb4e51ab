import type {CidrSet} from './cidr-set.js';

/** Which ranges which node has. */
export interface Allocator {
  /** Notes the ranges that a node was given, one of each set in order. Throws when one lies outside of its set, or has no set. */
  occupy(node: string, cidrs: readonly string[]): void;
  /** One range of each set: those the node has already, or new ones. Undefined, and nothing taken, when a set is used up. */
  propose(node: string): readonly string[] | undefined;
  /** Gives back what the node has, as far as no other node has it too. */
  release(node: string): void;
}

/**
 * Ranges are held in the name of a node, so that each is given back once only: one that went on to another node meanwhile stays with that one, and a
 * proposal whose fate is unknown is made again rather than lost.
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
      // A node that has none is still to be given some.
      if (cidrs.length === 0) return release(node);
      const before = held.get(node);
      if (before?.length === cidrs.length && before.every((cidr, at) => cidr === cidrs[at])) return;
      for (const [at, cidr] of cidrs.entries()) {
        const set = sets[at];
        if (!set) throw new Error(`node:${node} has an allocated cidr: ${cidr} at index:${at} that does not exist in cluster cidrs configuration`);
        set.occupy(cidr);
      }
      release(node);
      for (const [at, cidr] of cidrs.entries()) sets[at]!.occupy(cidr); // What was given back may be among what it has now.
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
