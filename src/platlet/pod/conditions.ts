// The pod conditions that the node sets.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {ContainerStatus, Pod, PodCondition} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {hasRegularStarted} from './init-actions.js';

export type ConditionState = Pick<PodCondition, 'type' | 'status' | 'reason' | 'message' | 'observedGeneration'> & {
  /** Where they are not those of the last change of its status. */
  readonly lastTransitionTime?: string;
  readonly lastProbeTime?: string;
};

type Statuses = ReadonlyMap<string, Frozen<ContainerStatus>>;

export const conditionTrue = (type: string, reason?: string): ConditionState => ({type, status: 'True', ...(reason ? {reason} : {})});
export const conditionFalse = (type: string, reason?: string, message?: string): ConditionState => ({
  type,
  status: 'False',
  ...(reason ? {reason} : {}),
  ...(message ? {message} : {}),
});

const listed = (names: readonly string[]): string => `[${names.join(' ')}]`;

/** Returns the condition of a pod that its node terminates. */
export const disruptedCondition = ({agent}: Naming, message: string): ConditionState => ({
  ...conditionTrue('DisruptionTarget', `TerminationBy${agent.charAt(0).toUpperCase()}${agent.slice(1)}`),
  message,
});

/** Returns the message about unready and unknown containers; empty if there are none. */
const problems = (unknown: readonly string[], others: readonly string[], what: string): string =>
  [
    ...(unknown.length > 0 ? [`containers with unknown status: ${listed(unknown)}`] : []),
    ...(others.length > 0 ? [`containers with ${what} status: ${listed(others)}`] : []),
  ].join(', ');

/**
 * Returns the Initialized condition: whether all init containers have completed. `statuses` is undefined while there
 * are no container statuses.
 */
export const initializedCondition = ({spec}: Frozen<Pod>, statuses: Statuses | undefined, phase: string): ConditionState => {
  const initContainers = spec?.initContainers ?? [];
  if (!statuses && initContainers.length > 0) return conditionFalse('Initialized', 'UnknownContainerStatuses');
  const unknown: string[] = [];
  const incomplete: string[] = [];
  for (const container of initContainers) {
    const status = statuses?.get(container.name);
    if (!status) unknown.push(container.name);
    else if (!(isSidecar(container) ? status.started : status.ready)) incomplete.push(container.name);
  }
  if (phase === 'Succeeded' && unknown.length === 0) return conditionTrue('Initialized', 'PodCompleted');
  if (statuses && hasRegularStarted(spec!, statuses)) return conditionTrue('Initialized');
  const message = problems(unknown, incomplete, 'incomplete');
  return message ? conditionFalse('Initialized', 'ContainersNotInitialized', message) : conditionTrue('Initialized');
};

/** Returns the ContainersReady condition. */
export const containersReadyCondition = ({spec}: Frozen<Pod>, statuses: Statuses | undefined, phase: string): ConditionState => {
  if (!statuses) return conditionFalse('ContainersReady', 'UnknownContainerStatuses');
  const unknown: string[] = [];
  const unready: string[] = [];
  for (const container of [...(spec?.initContainers ?? []).filter(isSidecar), ...spec!.containers]) {
    const status = statuses.get(container.name);
    if (!status) unknown.push(container.name);
    else if (!status.ready) unready.push(container.name);
  }
  if (phase === 'Succeeded' && unknown.length === 0) return conditionFalse('ContainersReady', 'PodCompleted');
  if (phase === 'Failed') return conditionFalse('ContainersReady', 'PodFailed');
  const message = problems(unknown, unready, 'unready');
  return message ? conditionFalse('ContainersReady', 'ContainersNotReady', message) : conditionTrue('ContainersReady');
};

/** Returns the Ready condition: the containers are ready, and all readiness gates are true. */
export const readyCondition = (
  {spec}: Frozen<Pod>,
  containers: ConditionState,
  others: readonly Frozen<PodCondition>[],
): ConditionState => {
  if (containers.status !== 'True') return {...containers, type: 'Ready'};
  const messages = (spec?.readinessGates ?? []).flatMap(({conditionType: type}) => {
    const found = others.find(condition => condition.type === type);
    if (!found) return [`corresponding condition of pod readiness gate ${JSON.stringify(type)} does not exist.`];
    return found.status === 'True' ? [] : [`the status of pod readiness gate ${JSON.stringify(type)} is not "True", but ${found.status}`];
  });
  return messages.length > 0 ? conditionFalse('Ready', 'ReadinessGatesNotReady', messages.join(', ')) : conditionTrue('Ready');
};

/** Conditions that are removed when they no longer apply. */
export const transientConditions: readonly string[] = ['PodResizePending', 'PodResizeInProgress'];

/** The inputs of conditions besides the pod. */
export interface ConditionInputs {
  readonly statuses: Statuses | undefined;
  readonly phase: string;
  /** Whether there is a ready sandbox with an address; not set if that is not reported. */
  readonly hasSandbox?: boolean;
  /** The conditions of a pending or running resize. */
  readonly resize?: readonly ConditionState[];
  /** The DisruptionTarget condition. */
  readonly disruption?: ConditionState;
}

/** Returns the conditions that the node sets, in order. */
export const conditionStates = (
  pod: Frozen<Pod>,
  {statuses, phase, hasSandbox, resize = [], disruption}: ConditionInputs,
): readonly ConditionState[] => {
  const containers = containersReadyCondition(pod, statuses, phase);
  return [
    ...resize,
    ...(disruption ? [disruption] : []),
    ...(hasSandbox === undefined ? [] : [{type: 'PodReadyToStartContainers', status: hasSandbox ? 'True' : 'False'} as const]),
    initializedCondition(pod, statuses, phase),
    readyCondition(pod, containers, pod.status?.conditions ?? []),
    containers,
    conditionTrue('PodScheduled'),
  ];
};

/** The conditions of a rejected pod. */
export const rejectedConditions: readonly ConditionState[] = [
  conditionFalse('Ready', 'PodFailed'),
  conditionFalse('ContainersReady', 'PodFailed'),
];
