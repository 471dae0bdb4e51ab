import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {podInfoOf} from './cache/pod-info.js';
import type {Resources} from './cache/resources.js';
import type {EventKind} from './events.js';

const conditionsOf = ({status}: Frozen<Node>): Record<string, string> => Object.fromEntries((status?.conditions ?? []).map(({type, status: is}) => [type, is]));

/** What changed of a node that pods may wait for. */
export const nodeChanges = (old: Frozen<Node>, now: Frozen<Node>): EventKind[] => {
  const changes: EventKind[] = [];
  const uncordoned = Boolean(old.spec?.unschedulable) && !now.spec?.unschedulable;
  if (!sameJson(old.status?.allocatable, now.status?.allocatable)) changes.push('NodeUpdateNodeAllocatable');
  if (!sameJson(old.metadata?.labels, now.metadata?.labels)) changes.push('NodeUpdateNodeLabel');
  if (uncordoned || !sameJson(old.spec?.taints, now.spec?.taints)) changes.push('NodeUpdateNodeTaint');
  if (!sameJson(conditionsOf(old), conditionsOf(now))) changes.push('NodeUpdateNodeCondition');
  if (!sameJson(old.metadata?.annotations, now.metadata?.annotations)) changes.push('NodeUpdateNodeAnnotation');
  return changes;
};

const lessOf = (a: Readonly<Resources>, b: Readonly<Resources>): boolean =>
  a.cpu > b.cpu || a.memory > b.memory || a.ephemeralStorage > b.ephemeralStorage || [...a.others].some(([name, amount]) => amount > (b.others.get(name) ?? 0));

const given = ({status}: Frozen<Pod>) => [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map(({resources, allocatedResources}) => [resources, allocatedResources]);

/** Whether a pod takes and asks for the same as before: its spec and its labels have not changed, nor what its containers were given. */
export const isAlike = (old: Frozen<Pod>, now: Frozen<Pod>): boolean =>
  now.metadata?.generation !== undefined && old.metadata?.generation === now.metadata.generation && sameJson(old.metadata.labels, now.metadata.labels) && sameJson(given(old), given(now));

const asksLess = (old: Frozen<Pod>, now: Frozen<Pod>): boolean => {
  if (isAlike(old, now)) return false;
  const how = {podLevel: true};
  return lessOf(podInfoOf(old, how).requests, podInfoOf(now, how).requests);
};

/** What changed of a pod that it, or others, may wait for; never nothing. */
export const podChanges = (old: Frozen<Pod>, now: Frozen<Pod>): EventKind[] => {
  const whose = now.spec?.nodeName ? 'AssignedPod' : 'UnschedulablePod';
  const changes: EventKind[] = [];
  if (!sameJson(old.metadata?.labels, now.metadata?.labels)) changes.push(`${whose}UpdatePodLabel`);
  if (asksLess(old, now)) changes.push(`${whose}UpdatePodScaleDown`);
  if (old.spec?.schedulingGates?.length && !now.spec?.schedulingGates?.length) changes.push(`${whose}UpdatePodSchedulingGatesEliminated`);
  if ((old.spec?.tolerations?.length ?? 0) !== (now.spec?.tolerations?.length ?? 0)) changes.push(`${whose}UpdatePodToleration`);
  if (!sameJson(old.status?.resourceClaimStatuses, now.status?.resourceClaimStatuses)) changes.push(`${whose}UpdatePodGeneratedResourceClaim`);
  return changes.length > 0 ? changes : [`${whose}Update`];
};
