import {isReady} from '#src/model/pod/state.js';
import {byAge, isUpdated, type DaemonSetStatus} from './kinds.js';
import {isServing, type PodsByNode, type DaemonSetSync} from './sync.js';

/**
 * Returns the status, counting the oldest pod of each node. The observed generation is raised only after its changes
 * were made.
 */
export const statusOf = (sync: DaemonSetSync, pods: PodsByNode, isObserved: boolean): DaemonSetStatus => {
  const {set, hash, placements} = sync;
  const desired = placements.filter(({shouldRun}) => shouldRun);
  const oldest = desired.flatMap(({name}) => [...(pods.get(name) ?? [])].sort(byAge).slice(0, 1));
  const ready = oldest.filter(isReady);
  const available = ready.filter(pod => isServing(pod, sync)).length;
  const updated = oldest.filter(pod => isUpdated(pod, set, hash)).length;
  const observed = isObserved ? set.metadata?.generation : set.status?.observedGeneration;
  const {collisionCount, conditions} = set.status ?? {};
  return {
    desiredNumberScheduled: desired.length,
    currentNumberScheduled: oldest.length,
    numberMisscheduled: placements.filter(({name, shouldRun}) => !shouldRun && pods.has(name)).length,
    numberReady: ready.length,
    ...(updated > 0 ? {updatedNumberScheduled: updated} : {}),
    ...(available > 0 ? {numberAvailable: available} : {}),
    ...(desired.length > available ? {numberUnavailable: desired.length - available} : {}),
    ...(observed ? {observedGeneration: observed} : {}),
    ...(collisionCount === undefined ? {} : {collisionCount}),
    ...(conditions ? {conditions: conditions as NonNullable<DaemonSetStatus['conditions']>} : {}),
  };
};
