import type {Index, Lister} from '#informers/lister.js';
import {keyText, type Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {canBeReserved, claimNameOf, foreignText, isReservedFor, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import {isTerminal} from '#src/model/pod/state.js';

/** Whether none of the pod's containers run or will run. */
export const isDone = (pod: Frozen<Pod>): boolean => isTerminal(pod) || (Boolean(pod.metadata?.deletionTimestamp) && !pod.spec?.nodeName);

/** Whether the pod has claims, including one for extended resources. */
export const hasClaims = ({spec, status}: Frozen<Pod>): boolean =>
  (spec?.resourceClaims?.length ?? 0) > 0 || status?.extendedResourceClaimStatus !== undefined;

const knownNames = (pod: Frozen<Pod>): string[] =>
  (pod.spec?.resourceClaims ?? []).flatMap(entry => {
    const found = claimNameOf(pod, entry);
    return found && found !== 'not created' ? [found.name] : [];
  });

/** Returns the names of all claims of a pod that are known. */
export const claimNames = (pod: Frozen<Pod>): string[] => {
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  return [...knownNames(pod), ...(extended ? [extended] : [])];
};

/** Pods by the claims in their specs. */
export const byDeviceClaim: Index<Pod> = {
  name: 'device claim',
  values: pod => knownNames(pod).map(name => keyText({namespace: pod.metadata?.namespace ?? '', name})),
};

/** Whether an allocated claim is to be reserved for a pod that was bound without the scheduler. */
export const isUnreserved = (claim: Frozen<DeviceClaim>, {metadata}: Frozen<Pod>): boolean =>
  Boolean(claim.status?.allocation) && !isReservedFor(claim, metadata?.uid) && canBeReserved(claim);

/** Whether a claim of the pod is to be created or reserved. */
export const needsWork = (pod: Frozen<Pod>, claims: Lister<DeviceClaim>): boolean => {
  if (pod.metadata?.deletionTimestamp || isDone(pod)) return false;
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const found = claimNameOf(pod, entry);
    if (found === 'not created') return true;
    if (!found) continue;
    const claim = claims.get({namespace: pod.metadata?.namespace ?? '', name: found.name});
    // A claim that does not exist is created from its template, or by the user.
    if (!claim && found.generated) return true;
    if (!claim) continue;
    // Until the other claim is deleted, there is nothing to do.
    if (found.generated && foreignText(pod, claim)) return false;
    if (pod.spec?.nodeName && isUnreserved(claim, pod)) return true;
  }
  return false;
};
