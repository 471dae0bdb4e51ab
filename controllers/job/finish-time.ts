import type {Frozen} from '#src/api/key.js';
import type {ContainerStatus} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import {isSidecar} from '#src/model/pod/restart.js';
import type {CachedPod} from './kinds.js';

/** Returns the latest end of containers; undefined while one has none. */
const latestEnd = (statuses: readonly Frozen<ContainerStatus>[]): number | undefined => {
  let latest: number | undefined;
  for (const {state} of statuses) {
    const end = parseTime(state?.terminated?.finishedAt);
    if (end === undefined) return undefined;
    latest = Math.max(latest ?? end, end);
  }
  return latest;
};

const endOfContainers = ({spec, status}: CachedPod): number | undefined => {
  const sidecars = new Set((spec?.initContainers ?? []).filter(isSidecar).map(({name}) => name));
  return latestEnd([...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? []).filter(({name}) => sidecars.has(name))]);
};

const endOfReadiness = ({status}: CachedPod): number | undefined =>
  parseTime(status?.conditions?.find(({type, status: said}) => type === 'Ready' && said === 'False')?.lastTransitionTime);

const startOfDeletion = ({metadata}: CachedPod): number | undefined => {
  const at = parseTime(metadata?.deletionTimestamp);
  return at === undefined ? undefined : at - (metadata?.deletionGracePeriodSeconds ?? 0) * 1000;
};

/** Returns when a pod finished, in ms: by its containers, else by the best estimate. */
export const finishTime = (pod: CachedPod): number =>
  endOfContainers(pod) ?? endOfReadiness(pod) ?? startOfDeletion(pod) ?? parseTime(pod.metadata?.creationTimestamp) ?? 0;
