// The pod status that a node reports.

import type {Frozen} from '#src/api/key.js';
import type {Pod, PodCondition, PodStatus} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import {conditionStates, rejectedConditions, type ConditionState} from './conditions.js';
import {containerStatuses, finalStatuses, statusesByName, type ContainerInputs, type ContainerStatuses} from './container-statuses.js';
import {isTerminalPhase, phaseOf, type Phase} from './phase.js';
import type {Requirements} from './resources/pod-resources.js';

/** The resources of a pod itself; only where these can be resized. */
export interface PodResourcesStatus {
  readonly resources?: Requirements;
  readonly allocatedResources?: Readonly<Record<string, string>>;
}

/** The fields of a pod status that the node sets. Others are left unchanged. */
export type OwnStatus = Pick<
  PodStatus,
  | 'phase'
  | 'reason'
  | 'message'
  | 'observedGeneration'
  | 'hostIP'
  | 'hostIPs'
  | 'podIP'
  | 'podIPs'
  | 'startTime'
  | 'conditions'
  | 'initContainerStatuses'
  | 'containerStatuses'
  | 'ephemeralContainerStatuses'
> &
  PodResourcesStatus;

/** Why a pod fails or is terminated, regardless of its containers. */
export interface PodOutcome {
  readonly reason?: string;
  readonly message?: string;
  /** Whether the phase is Failed regardless of exit codes. */
  readonly isFailure?: boolean;
}

/** The inputs of a pod status besides the pod. */
export interface StatusInputs extends ContainerInputs {
  readonly now: number;
  /** When the node first observed the pod. */
  readonly startTime: number;
  readonly hostAddresses: readonly string[];
  /** The addresses of the pod, the primary one first; empty if there is none yet. */
  readonly podAddresses: readonly string[];
  /** Not set if it is not reported. */
  readonly hasSandbox?: boolean;
  /** `ending`: nothing is restarted. `finished`: nothing is running. */
  readonly stage: 'running' | 'ending' | 'finished';
  readonly outcome?: PodOutcome;
  readonly resize?: readonly ConditionState[];
  readonly podResources?: PodResourcesStatus | undefined;
  readonly disruption?: ConditionState;
  /** Whether the pod is a static pod. */
  readonly isStatic?: boolean;
}

/** Returns the conditions with their last transition times. */
const timedConditions = ({metadata, status}: Frozen<Pod>, states: readonly ConditionState[], now: number): PodCondition[] => {
  const before = status?.conditions ?? [];
  const generation = metadata?.generation;
  return states.map(state => {
    const old = before.find(({type}) => type === state.type);
    const lastTransitionTime =
      state.lastTransitionTime ?? (old?.status === state.status && old.lastTransitionTime ? old.lastTransitionTime : wireTime(now));
    return {...(generation ? {observedGeneration: generation} : {}), ...state, lastTransitionTime};
  });
};

/**
 * A terminal phase is final, and is not reported while containers are running. A pod that will not run again has either
 * succeeded or failed.
 */
const reportedPhase = (pod: Frozen<Pod>, statuses: ContainerStatuses, {stage, outcome, isStatic}: StatusInputs): Phase => {
  const before = pod.status?.phase;
  if (isTerminalPhase(before)) return before;
  const phase = phaseOf(pod, statusesByName(statuses), stage !== 'running' && !isStatic);
  if (stage === 'finished') return outcome?.isFailure ? 'Failed' : isTerminalPhase(phase) ? phase : 'Failed';
  return isTerminalPhase(phase) ? ((before as Phase | undefined) ?? 'Pending') : phase;
};

/** Whether a pod is done by its phase, even if containers are still running. */
export const isDone = (pod: Frozen<Pod>, statuses: ContainerStatuses): boolean =>
  isTerminalPhase(pod.status?.phase) || isTerminalPhase(phaseOf(pod, statusesByName(statuses), false));

const texts = (
  before: Frozen<PodStatus> | undefined,
  phase: string,
  outcome: PodOutcome | undefined,
): Pick<OwnStatus, 'reason' | 'message'> => {
  const kept = before?.phase === phase ? before : undefined;
  const [reason, message] = [outcome?.reason ?? kept?.reason, outcome?.message ?? kept?.message];
  return {...(reason ? {reason} : {}), ...(message ? {message} : {})};
};

const commonFields = (pod: Frozen<Pod>, phase: Phase, outcome: PodOutcome | undefined, startTime: number) => {
  const {metadata, status: before} = pod;
  return {
    phase,
    ...texts(before, phase, outcome),
    ...(metadata?.generation ? {observedGeneration: metadata.generation} : {}),
    startTime: before?.startTime ?? wireTime(startTime),
  } as OwnStatus;
};

/** Returns the status of a rejected pod. */
export const rejectedStatus = (
  pod: Frozen<Pod>,
  outcome: Required<Pick<PodOutcome, 'reason' | 'message'>>,
  now: number,
  startTime = now,
): OwnStatus => ({
  ...commonFields(pod, 'Failed', outcome, startTime),
  conditions: timedConditions(pod, rejectedConditions, now),
});

/** Returns the status of a pod. */
export const podStatus = (pod: Frozen<Pod>, inputs: StatusInputs): OwnStatus => {
  const {now, startTime, hostAddresses, podAddresses, hasSandbox, stage, outcome, resize, disruption} = inputs;
  const current = containerStatuses(pod, inputs);
  const statuses = stage === 'finished' ? finalStatuses(pod, current) : current;
  const phase = reportedPhase(pod, statuses, inputs);
  const states = conditionStates(pod, {
    statuses: statusesByName(statuses),
    phase,
    ...(hasSandbox === undefined ? {} : {hasSandbox}),
    ...(resize ? {resize} : {}),
    // Before the pod has ended it is not known whether it will.
    ...(disruption && isTerminalPhase(phase) ? {disruption} : {}),
  });
  const [hostIP] = hostAddresses;
  const [podIP] = podAddresses;
  return {
    ...commonFields(pod, phase, isTerminalPhase(phase) ? outcome : undefined, startTime),
    conditions: timedConditions(pod, states, now),
    ...(hostIP ? {hostIP, hostIPs: hostAddresses.map(ip => ({ip}))} : {}),
    ...(podIP ? {podIP, podIPs: podAddresses.map(ip => ({ip}))} : {}),
    ...inputs.podResources,
    ...statuses,
  };
};
