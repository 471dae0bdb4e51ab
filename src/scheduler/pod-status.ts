import type {Frozen} from '#src/api/key.js';
import type {Pod, PodCondition} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';

/** What there is to tell of a pod that was not scheduled. */
export interface Report {
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
  /** The node it is promised from now on; empty takes a promise back, undefined leaves things as they are. */
  readonly nominatedNode: string | undefined;
}

const same = (a: Frozen<PodCondition>, b: PodCondition): boolean =>
  a.status === b.status && a.reason === b.reason && a.message === b.message && (a as {observedGeneration?: number}).observedGeneration === (b as {observedGeneration?: number}).observedGeneration;

/** The change of a pod's status that a report asks for, as a strategic patch; undefined where it says so already. */
export const statusPatch = ({metadata, status = {}}: Frozen<Pod>, {reason, message, nominatedNode}: Report, now: number): object | undefined => {
  const before = status.conditions?.find(({type}) => type === 'PodScheduled');
  const wanted: PodCondition = {type: 'PodScheduled', status: 'False', reason, message, ...(metadata?.generation ? {observedGeneration: metadata.generation} : {})};
  const isTold = before !== undefined && same(before, wanted);
  const isPromised = nominatedNode === undefined || nominatedNode === (status.nominatedNodeName ?? '');
  if (isTold && isPromised) return undefined;
  const lastTransitionTime = before?.status === 'False' ? before.lastTransitionTime : wireTime(now);
  return {
    metadata: {uid: metadata?.uid},
    status: {
      ...(isTold ? {} : {conditions: [{...wanted, lastTransitionTime}]}),
      ...(isPromised ? {} : {nominatedNodeName: nominatedNode || null}),
    },
  };
};

/** The change of a pod's status that tells the node it will be on; undefined where it says so already. */
export const promisePatch = ({metadata, status}: Frozen<Pod>, node: string): object | undefined =>
  status?.nominatedNodeName === node ? undefined : {metadata: {uid: metadata?.uid}, status: {nominatedNodeName: node}};
