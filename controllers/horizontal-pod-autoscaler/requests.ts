import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {podRequests} from '#src/model/pod/requests.js';
import {isPodLevelResource} from '#src/model/resource-names.js';
import {milliOf, milliText} from './amounts.js';

/** Whether the pod has pod-level requests. */
const hasPodLevelRequests = ({spec}: Frozen<Pod>): boolean => Object.keys(spec?.resources?.requests ?? {}).some(isPodLevelResource);

const ofWhole = (pod: Frozen<Pod>, resource: string): bigint => {
  const amount = podRequests(pod, {podLevel: true}).get(resource);
  if (!amount) throw new Error(`missing pod-level request for ${resource} in Pod ${pod.metadata?.name}`);
  return milliOf(amount);
};

const ofContainers = ({metadata, spec}: Frozen<Pod>, resource: string, only: string): bigint => {
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(isSidecar)];
  const counted = only ? all.filter(({name}) => name === only) : all;
  if (only && counted.length === 0) throw new Error(`container ${only} not found in Pod ${metadata?.name}`);
  return counted.reduce((sum, {name, resources}) => {
    const amount = resources?.requests?.[resource];
    if (amount === undefined) throw new Error(`missing request for ${resource} in container ${name} of Pod ${metadata?.name}`);
    return sum + milliText(amount);
  }, 0n);
};

/**
 * Returns each pod's request of a resource, in thousandths: of all its containers, or of the named one. Throws for a
 * pod without a request.
 */
export const requestsOf = (
  pods: readonly Frozen<Pod>[],
  resource: string,
  container: string,
  podLevel: boolean,
): ReadonlyMap<string, bigint> =>
  new Map(
    pods.map(pod => [
      pod.metadata?.name ?? '',
      podLevel && !container && hasPodLevelRequests(pod) ? ofWhole(pod, resource) : ofContainers(pod, resource, container),
    ]),
  );
