import {signsClaims} from '#src/scheduler/signatures/plugin-signatures.js';
import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import {canBeReserved, claimNameOf, foreignText, isReservedFor, notCreatedText, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import {PreparedDevices} from './prepared-devices.js';
import type {Claim} from '#src/scheduler/devices/types.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {unresolvable, type PreparedFilter, type Cluster, type Filter, type Rejection} from '#src/scheduler/framework/plugin.js';

/** How long allocation may take for one node, and devices may take to become ready. */
export interface DynamicResourcesOptions {
  readonly filterTimeoutMs: number;
  readonly bindingTimeoutMs: number;
}

const defaults: DynamicResourcesOptions = {filterTimeoutMs: 10_000, bindingTimeoutMs: 600_000};

/**
 * Returns the resource claims of a pod, or the reason why one of them cannot be used. A template reference that needed
 * no claim is left out.
 */
const claimsOf = ({pod, namespace}: PodInfo, {devices, naming}: Pick<Cluster, 'devices' | 'naming'>): readonly Claim[] | string => {
  const claims: Claim[] = [];
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const found = claimNameOf(pod, entry);
    if (found === 'not created') return notCreatedText(pod);
    if (!found) continue;
    const claim = devices.claims.get(`${namespace}/${found.name}`);
    if (!claim) return `resourceclaim.${naming.group('resource')} ${JSON.stringify(found.name)} not found`;
    if (claim.metadata?.deletionTimestamp) return `resourceclaim ${JSON.stringify(found.name)} is being deleted`;
    const foreign = found.generated ? foreignText(pod, claim) : undefined;
    if (foreign) return foreign;
    claims.push(claim);
  }
  return claims;
};

/** Returns why no node will do for a claim. */
const problemOf = (claim: Claim, pod: PodInfo, {devices}: Cluster): string | undefined => {
  if (claim.status?.allocation) return isReservedFor(claim, pod.uid) || canBeReserved(claim) ? undefined : 'resourceclaim in use';
  const {namespace, name, uid = ''} = claim.metadata ?? {};
  const text = `${namespace}/${name}`;
  if (devices.claims.isPending(uid)) return `resource claim ${text} is in the process of being allocated`;
  for (const {name: request, exactly, firstAvailable = []} of claim.spec.devices?.requests ?? []) {
    if (!exactly && firstAvailable.length === 0) return `resource claim ${text}, request ${request}: unknown request type`;
    if (!exactly && !devices.features.prioritizedList)
      return `resource claim ${text}, request ${request}: has subrequests, but the DRAPrioritizedList feature is disabled`;
    const options = exactly ? [{name: request, of: exactly}] : firstAvailable.map(each => ({name: `${request}/${each.name}`, of: each}));
    for (const {name: option, of} of options) {
      if (!devices.allocator.classOf(of.deviceClassName)) return `request ${option}: device class ${of.deviceClassName} does not exist`;
    }
  }
  return undefined;
};

const prepare = (pod: PodInfo, cluster: Cluster, options: DynamicResourcesOptions): PreparedFilter | Rejection | undefined => {
  const {devices} = cluster;
  const claims = claimsOf(pod, cluster);
  if (typeof claims === 'string') return unresolvable(claims);
  const resources = devices.features.extendedResource ? devices.extended.resourcesOf(pod) : [];
  if (claims.length === 0 && resources.length === 0) return undefined;
  for (const claim of claims) {
    const problem = problemOf(claim, pod, cluster);
    if (problem !== undefined) return unresolvable(problem);
  }
  return new PreparedDevices({...options, clock: cluster.clock, log: cluster.log, devices}, pod, claims, resources);
};

const usesClaim = (pod: PodInfo, claim: Frozen<KubeObject> | undefined): boolean =>
  claim?.metadata?.namespace === pod.namespace &&
  (pod.pod.spec?.resourceClaims ?? []).some(entry => {
    const found = claimNameOf(pod.pod, entry);
    return found && found !== 'not created' && found.name === claim.metadata?.name;
  });

const shouldQueueOnClaim = (
  pod: PodInfo,
  old: Frozen<DeviceClaim> | undefined,
  now: Frozen<DeviceClaim> | undefined,
  cluster: Cluster,
): boolean => {
  if (typeof claimsOf(pod, cluster) === 'string') return false;
  // The devices may be allocated again.
  if (old?.status?.allocation && !now?.status?.allocation) return true;
  return usesClaim(pod, now) && (!old || !sameJson(old.status, now?.status));
};

/** Restricts a pod to nodes with devices for its claims, and allocates them. */
export const dynamicResourcesWith = (options: DynamicResourcesOptions): Filter => ({
  plugin: 'DynamicResources',
  sign: signsClaims,
  prepare: (pod, cluster) => prepare(pod, cluster, options),
  gates: (pod, cluster) => typeof claimsOf(pod, cluster) === 'string',
  hints: [
    {on: ['NodeAdd', 'NodeUpdateNodeLabel', 'NodeUpdateNodeAllocatable']},
    {on: ['ResourceClaimAdd', 'ResourceClaimUpdate'], shouldQueue: shouldQueueOnClaim},
    {on: ['UnschedulablePodUpdatePodGeneratedResourceClaim'], shouldQueue: (pod, _, now) => now?.metadata?.uid === pod.uid},
    {on: ['DeviceClassAdd', 'DeviceClassUpdate', 'ResourceSliceAdd', 'ResourceSliceUpdate']},
  ],
});

/** Restricts a pod to nodes with devices for its claims, with the default time limits. */
export const dynamicResources = dynamicResourcesWith(defaults);
