import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {isSchedulingEqual, requestsOf} from './cache/pod-info.js';
import type {Resources} from './cache/resources.js';
import type {EventKind} from '#src/scheduler/framework/events.js';

const conditionsOf = ({status}: Frozen<Node>): Record<string, string> =>
  Object.fromEntries((status?.conditions ?? []).map(({type, status: is}) => [type, is]));

/** Returns the kinds of events that an update of a node causes. */
export const nodeEvents = (old: Frozen<Node>, now: Frozen<Node>): EventKind[] => {
  const changes: EventKind[] = [];
  const uncordoned = Boolean(old.spec?.unschedulable) && !now.spec?.unschedulable;
  if (!sameJson(old.status?.allocatable, now.status?.allocatable)) changes.push('NodeUpdateNodeAllocatable');
  if (!sameJson(old.metadata?.labels, now.metadata?.labels)) changes.push('NodeUpdateNodeLabel');
  if (uncordoned || !sameJson(old.spec?.taints, now.spec?.taints)) changes.push('NodeUpdateNodeTaint');
  if (!sameJson(conditionsOf(old), conditionsOf(now))) changes.push('NodeUpdateNodeCondition');
  if (!sameJson(old.metadata?.annotations, now.metadata?.annotations)) changes.push('NodeUpdateNodeAnnotation');
  if (!sameJson(old.status?.declaredFeatures, now.status?.declaredFeatures)) changes.push('NodeUpdateNodeDeclaredFeature');
  return changes;
};

const hasReducedRequest = (a: Readonly<Resources>, b: Readonly<Resources>): boolean =>
  a.cpu > b.cpu ||
  a.memory > b.memory ||
  a.ephemeralStorage > b.ephemeralStorage ||
  [...a.scalars].some(([name, amount]) => amount > (b.scalars.get(name) ?? 0));

const isScaledDown = (old: Frozen<Pod>, now: Frozen<Pod>): boolean => {
  if (isSchedulingEqual(old, now)) return false;
  return hasReducedRequest(requestsOf(old, true), requestsOf(now, true));
};

/** Returns the kinds of events that an update of a pod causes; at least one. */
export const podEvents = (old: Frozen<Pod>, now: Frozen<Pod>): EventKind[] => {
  const prefix = now.spec?.nodeName ? 'AssignedPod' : 'UnschedulablePod';
  const changes: EventKind[] = [];
  if (!sameJson(old.metadata?.labels, now.metadata?.labels)) changes.push(`${prefix}UpdatePodLabel`);
  if (isScaledDown(old, now)) changes.push(`${prefix}UpdatePodScaleDown`);
  if (old.spec?.schedulingGates?.length && !now.spec?.schedulingGates?.length) changes.push(`${prefix}UpdatePodSchedulingGatesEliminated`);
  if ((old.spec?.tolerations?.length ?? 0) !== (now.spec?.tolerations?.length ?? 0)) changes.push(`${prefix}UpdatePodToleration`);
  if (!sameJson(old.status?.resourceClaimStatuses, now.status?.resourceClaimStatuses))
    changes.push(`${prefix}UpdatePodGeneratedResourceClaim`);
  return changes.length > 0 ? changes : [`${prefix}Update`];
};
