import type {Frozen} from '#src/api/key.js';
import type {ContainerStatus, PodCondition} from '#src/api/pod.js';
import {isInitialized, type PodRecord} from './record.js';
import {specContainers} from '#src/simulation/rules/spec-containers.js';
import type {ContainerStatuses} from './container-status.js';

type ConditionState = Pick<PodCondition, 'type' | 'status' | 'reason' | 'message' | 'observedGeneration'>;

const conditionTrue = (type: string, reason?: string): ConditionState => ({type, status: 'True', ...(reason ? {reason} : {})});
const conditionFalse = (type: string, reason?: string, message?: string): ConditionState => ({
  type,
  status: 'False',
  ...(reason ? {reason} : {}),
  ...(message ? {message} : {}),
});

const listed = (names: readonly string[]): string => `[${names.join(' ')}]`;

const initialized = (record: PodRecord, statuses: ReadonlyMap<string, ContainerStatus>, phase: string): ConditionState => {
  if (phase === 'Succeeded') return conditionTrue('Initialized', 'PodCompleted');
  if (isInitialized(record)) return conditionTrue('Initialized');
  const waiting: string[] = [];
  for (const {
    container: {name},
    role,
  } of specContainers(record.pod.spec!)) {
    const status = statuses.get(name);
    if ((role === 'init' && !status?.ready) || (role === 'sidecar' && !status?.started)) waiting.push(name);
  }
  return waiting.length > 0
    ? conditionFalse('Initialized', 'ContainersNotInitialized', `containers with incomplete status: ${listed(waiting)}`)
    : conditionTrue('Initialized');
};

const containersReady = (record: PodRecord, statuses: ReadonlyMap<string, ContainerStatus>, phase: string): ConditionState => {
  if (phase === 'Succeeded') return conditionFalse('ContainersReady', 'PodCompleted');
  if (phase === 'Failed') return conditionFalse('ContainersReady', 'PodFailed');
  const unready: string[] = [];
  for (const {
    container: {name},
    role,
  } of specContainers(record.pod.spec!)) {
    if ((role === 'regular' || role === 'sidecar') && !statuses.get(name)?.ready) unready.push(name);
  }
  return unready.length > 0
    ? conditionFalse('ContainersReady', 'ContainersNotReady', `containers with unready status: ${listed(unready)}`)
    : conditionTrue('ContainersReady');
};

/** A pod is ready when its containers are, and every condition of its readiness gates is true. */
const ready = (record: PodRecord, containers: ConditionState, others: readonly Frozen<PodCondition>[]): ConditionState => {
  if (containers.status !== 'True') return {...containers, type: 'Ready'};
  const messages = (record.pod.spec?.readinessGates ?? []).flatMap(({conditionType: type}) => {
    const found = others.find(condition => condition.type === type);
    if (!found) return [`corresponding condition of pod readiness gate ${JSON.stringify(type)} does not exist.`];
    return found.status === 'True' ? [] : [`the status of pod readiness gate ${JSON.stringify(type)} is not "True", but ${found.status}`];
  });
  return messages.length > 0 ? conditionFalse('Ready', 'ReadinessGatesNotReady', messages.join(', ')) : conditionTrue('Ready');
};

/** Returns the conditions of a pending or running resize. */
const resizeConditions = ({resizing: {pending, progress}}: PodRecord): ConditionState[] => [
  ...(pending
    ? [{...conditionTrue('PodResizePending', pending.reason), message: pending.message, observedGeneration: pending.generation}]
    : []),
  ...(progress ? [{...conditionTrue('PodResizeInProgress'), observedGeneration: progress.generation}] : []),
];

/** Conditions that exist only temporarily. */
export const transientConditions: readonly string[] = ['PodResizePending', 'PodResizeInProgress'];

const conditionStates = (
  record: PodRecord,
  statuses: ContainerStatuses,
  phase: string,
  others: readonly Frozen<PodCondition>[],
): readonly ConditionState[] => {
  if (record.rejection) return [conditionFalse('Ready', 'PodFailed'), conditionFalse('ContainersReady', 'PodFailed')];
  const byName = new Map(
    [...(statuses.initContainerStatuses ?? []), ...(statuses.containerStatuses ?? [])].map(status => [status.name, status]),
  );
  const containers = containersReady(record, byName, phase);
  const started = {type: 'PodReadyToStartContainers', status: record.sandbox === 'up' ? 'True' : 'False'};
  return [
    ...resizeConditions(record),
    started,
    initialized(record, byName, phase),
    ready(record, containers, others),
    containers,
    conditionTrue('PodScheduled'),
  ];
};

/** Returns the conditions that the agent sets, each with the time of its last transition: `time` for those that change now. */
export const conditionsOf = (record: PodRecord, statuses: ContainerStatuses, phase: string, time: string): PodCondition[] => {
  const {metadata, status} = record.pod;
  const before = status?.conditions ?? [];
  const {generation} = metadata ?? {};
  return conditionStates(record, statuses, phase, before).map(state => {
    const old = before.find(({type}) => type === state.type);
    const lastTransitionTime = old?.status === state.status && old.lastTransitionTime ? old.lastTransitionTime : time;
    return {...(generation ? {observedGeneration: generation} : {}), ...state, lastTransitionTime};
  });
};
