// The messages between the agent and the plugins of drivers of resource claims. Pure.

import type {ClaimState} from './claim-infos.js';
import type {ClaimMessage} from './messages.js';

export const messageFor = ({namespace, uid, name}: ClaimState): ClaimMessage => ({namespace, uid, name});

interface ClaimResult {
  readonly uid: string;
  readonly result: {readonly error: string} | undefined;
}

/**
 * Returns the results of a call, of each claim the last. Throws unless all that was asked for is done, and nothing
 * else.
 */
export const checkResults = <R extends ClaimResult>(
  procedure: 'NodePrepareResources' | 'NodeUnprepareResources',
  asked: readonly ClaimMessage[],
  all: readonly R[],
): readonly R[] => {
  const results = new Map(all.map(one => [one.uid, one]));
  for (const {uid, result} of results.values()) {
    const claim = asked.find(one => one.uid === uid);
    if (!claim) throw new Error(`${procedure} returned result for unknown claim UID ${uid}`);
    if (result?.error) throw new Error(`${procedure} failed for ResourceClaim ${claim.name}: ${result.error}`);
  }
  const unfinished = asked.length - results.size;
  if (unfinished !== 0) throw new Error(`${procedure} skipped ${unfinished} ResourceClaims`);
  return [...results.values()];
};
