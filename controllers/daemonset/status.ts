import {isReady} from '#src/model/pod/state.js';
import {byAge, isUpdated, type DaemonSetStatus} from './kinds.js';
import {isServing, type PodsByNode, type Round} from './round.js';

/** The status with the oldest pod of each node counted. The generation is raised only once its wishes have been followed. */
export const statusOf = (round: Round, pods: PodsByNode, isFollowed: boolean): DaemonSetStatus => {
  const {set, hash, places} = round;
  const desired = places.filter(({shouldRun}) => shouldRun);
  const oldest = desired.flatMap(({name}) => [...(pods.get(name) ?? [])].sort(byAge).slice(0, 1));
  const ready = oldest.filter(isReady);
  const available = ready.filter(pod => isServing(pod, round)).length;
  const updated = oldest.filter(pod => isUpdated(pod, set, hash)).length;
  const observed = isFollowed ? set.metadata?.generation : set.status?.observedGeneration;
  const {collisionCount, conditions} = set.status ?? {};
  return {
    desiredNumberScheduled: desired.length,
    currentNumberScheduled: oldest.length,
    numberMisscheduled: places.filter(({name, shouldRun}) => !shouldRun && pods.has(name)).length,
    numberReady: ready.length,
    ...(updated > 0 ? {updatedNumberScheduled: updated} : {}),
    ...(available > 0 ? {numberAvailable: available} : {}),
    ...(desired.length > available ? {numberUnavailable: desired.length - available} : {}),
    ...(observed ? {observedGeneration: observed} : {}),
    ...(collisionCount === undefined ? {} : {collisionCount}),
    ...(conditions ? {conditions: conditions as NonNullable<DaemonSetStatus['conditions']>} : {}),
  };
};
