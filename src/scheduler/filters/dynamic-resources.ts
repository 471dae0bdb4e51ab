import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {canBeReserved, claimNameOf, foreignText, isReservedFor, notCreatedText, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import {matchesNodeSelector} from '#src/model/node-affinity.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unresolvable, type PreparedFilter, type Cluster, type Filter, type Rejection} from '#src/scheduler/framework/plugin.js';

/** Returns the resource claims of a pod, or the reason why one of them cannot be used. A template reference that needed no claim is left out. */
const deviceClaimsOf = (
  {pod, namespace}: PodInfo,
  {lister, naming}: Pick<Cluster, 'lister' | 'naming'>,
): readonly Frozen<DeviceClaim>[] | string => {
  const claims: Frozen<DeviceClaim>[] = [];
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const found = claimNameOf(pod, entry);
    if (found === 'not created') return notCreatedText(pod);
    if (!found) continue;
    const claim = lister(kinds.resourceClaims).get({namespace, name: found.name});
    if (!claim) return `resourceclaim.${naming.group('resource')} ${JSON.stringify(found.name)} not found`;
    if (claim.metadata?.deletionTimestamp) return `resourceclaim ${JSON.stringify(found.name)} is being deleted`;
    const foreign = found.generated ? foreignText(pod, claim) : undefined;
    if (foreign) return foreign;
    claims.push(claim);
  }
  return claims;
};

const isUsable = (claim: Frozen<DeviceClaim>, {uid}: PodInfo): boolean => isReservedFor(claim, uid) || canBeReserved(claim);

const prepare = (pod: PodInfo, cluster: Cluster): PreparedFilter | Rejection | undefined => {
  const claims = deviceClaimsOf(pod, cluster);
  if (typeof claims === 'string') return unresolvable(claims);
  if (claims.length === 0) return undefined;
  if (claims.some(claim => claim.status?.allocation && !isUsable(claim, pod))) return unresolvable('resourceclaim in use');
  const selectors = claims.flatMap(({status}) => (status?.allocation?.nodeSelector ? [status.allocation.nodeSelector] : []));
  const isAllocated = claims.every(({status}) => status?.allocation);
  return {
    filter({node}) {
      if (!selectors.every(selector => matchesNodeSelector(selector, node!)))
        return unresolvable('resourceclaim not available on the node');
      // Differs from upstream: devices are allocated by other components, never here.
      return isAllocated ? undefined : unresolvable('cannot allocate all claims');
    },
    reserve: () => (claims.every(claim => isReservedFor(claim, pod.uid)) ? undefined : cluster.devices.reserve(claims)),
  };
};

const isPodClaim = (pod: PodInfo, claim: Frozen<KubeObject> | undefined): boolean => {
  const names = (pod.pod.spec?.resourceClaims ?? []).map(({resourceClaimName}) => resourceClaimName);
  const made = (pod.pod.status?.resourceClaimStatuses ?? []).map(({resourceClaimName}) => resourceClaimName);
  return claim?.metadata?.namespace === pod.namespace && [...names, ...made].includes(claim.metadata?.name);
};

/** Restricts a pod to the nodes whose devices are allocated to its claims. */
export const dynamicResources: Filter = {
  plugin: 'DynamicResources',
  prepare,
  hints: [
    {
      on: ['ResourceClaimAdd', 'ResourceClaimUpdate'],
      shouldQueue: (pod, old: Frozen<DeviceClaim> | undefined, now: Frozen<DeviceClaim> | undefined) =>
        isPodClaim(pod, now) && (!old || !sameJson(old.status, now?.status)),
    },
    {on: ['UnschedulablePodUpdatePodGeneratedResourceClaim'], shouldQueue: (pod, _, now) => now?.metadata?.uid === pod.uid},
    {on: ['NodeAdd', 'NodeUpdateNodeLabel']},
  ],
};
