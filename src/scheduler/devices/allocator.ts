import type {Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import type {Random} from '#src/base/random.js';
import type {Steps} from '#src/base/steps.js';
import {gatherPools} from './pools.js';
import {requestsOf} from './requests.js';
import {allocationOf} from './results.js';
import {DeviceSearch, type SearchParts} from './search.js';
import type {Allocation, Claim} from './types.js';

export interface AllocatorParts extends SearchParts {
  readonly random: Random;
  slices(): Lister<ObjectOf<typeof kinds.resourceSlices>>;
}

/** The allocations of claims, in their order, or why there are none on this node. */
export type AllocationResult = readonly Allocation[] | string;

/**
 * Allocates devices to claims on a node. Throws an `AllocationError` if something is wrong with a claim or a class,
 * whatever the node. The caller ends the steps when they take too long.
 */
export const allocate = function* (claims: readonly Claim[], node: Frozen<Node>, parts: AllocatorParts): Steps<AllocationResult> {
  const {features, random, slices} = parts;
  const pools = yield* gatherPools(slices(), node, features);
  const search = new DeviceSearch(
    parts,
    node,
    claims,
    pools.filter(({isIncomplete, isInvalid}) => !isIncomplete && !isInvalid),
  );
  for (const claim of claims) search.add(yield* requestsOf(claim, {...search.context, pools}));
  if (yield* search.run()) {
    const at = {features, random, node: node.metadata?.name ?? ''};
    return claims.map((claim, index) => allocationOf(claim, search.choices[index]!, search.selected[index]!, at));
  }
  return pools.some(({isInvalid}) => isInvalid) ? 'invalid resource pools were encountered' : 'cannot allocate all claims';
};
