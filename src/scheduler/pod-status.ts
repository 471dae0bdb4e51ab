import type {Frozen} from '#src/api/key.js';
import type {Pod, PodCondition} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';

/** The status to report for a pod that was not scheduled. */
export interface SchedulingFailure {
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
  /** The new nominated node; empty clears it, undefined leaves it unchanged. */
  readonly nominatedNode: string | undefined;
}

const isSameCondition = (a: Frozen<PodCondition>, b: PodCondition): boolean =>
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  (a as {observedGeneration?: number}).observedGeneration === (b as {observedGeneration?: number}).observedGeneration;

/** Returns the strategic patch of the pod's status for a failure; undefined if the status is up to date. */
export const statusPatch = (
  {metadata, status = {}}: Frozen<Pod>,
  {reason, message, nominatedNode}: SchedulingFailure,
  now: number,
): object | undefined => {
  const before = status.conditions?.find(({type}) => type === 'PodScheduled');
  const wanted: PodCondition = {
    type: 'PodScheduled',
    status: 'False',
    reason,
    message,
    ...(metadata?.generation ? {observedGeneration: metadata.generation} : {}),
  };
  const isReported = before !== undefined && isSameCondition(before, wanted);
  const isNominated = nominatedNode === undefined || nominatedNode === (status.nominatedNodeName ?? '');
  if (isReported && isNominated) return undefined;
  const lastTransitionTime = before?.status === 'False' ? before.lastTransitionTime : wireTime(now);
  return {
    metadata: {uid: metadata?.uid},
    status: {
      ...(isReported ? {} : {conditions: [{...wanted, lastTransitionTime}]}),
      ...(isNominated ? {} : {nominatedNodeName: nominatedNode || null}),
    },
  };
};

/** Returns the patch that nominates the expected node; undefined if the status is up to date. */
export const nominationPatch = ({metadata, status}: Frozen<Pod>, node: string): object | undefined =>
  status?.nominatedNodeName === node ? undefined : {metadata: {uid: metadata?.uid}, status: {nominatedNodeName: node}};
