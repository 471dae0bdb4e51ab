import type {Frozen} from '#src/api/key.js';
import type {ContainerStatus, PodCondition} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import {isInitialized, specContainers, type PodRecord} from './record.js';
import type {ContainerStatuses} from './container-status.js';

type Verdict = Pick<PodCondition, 'type' | 'status' | 'reason' | 'message' | 'observedGeneration'>;

const yes = (type: string, reason?: string): Verdict => ({type, status: 'True', ...(reason ? {reason} : {})});
const no = (type: string, reason?: string, message?: string): Verdict => ({type, status: 'False', ...(reason ? {reason} : {}), ...(message ? {message} : {})});

const listed = (names: readonly string[]): string => `[${names.join(' ')}]`;

const initialized = (record: PodRecord, statuses: ReadonlyMap<string, ContainerStatus>, phase: string): Verdict => {
  if (phase === 'Succeeded') return yes('Initialized', 'PodCompleted');
  if (isInitialized(record)) return yes('Initialized');
  const waiting: string[] = [];
  for (const {container: {name}, role} of specContainers(record.pod.spec!)) {
    const status = statuses.get(name);
    if ((role === 'init' && !status?.ready) || (role === 'sidecar' && !status?.started)) waiting.push(name);
  }
  return waiting.length > 0 ? no('Initialized', 'ContainersNotInitialized', `containers with incomplete status: ${listed(waiting)}`) : yes('Initialized');
};

const containersReady = (record: PodRecord, statuses: ReadonlyMap<string, ContainerStatus>, phase: string): Verdict => {
  if (phase === 'Succeeded') return no('ContainersReady', 'PodCompleted');
  if (phase === 'Failed') return no('ContainersReady', 'PodFailed');
  const unready: string[] = [];
  for (const {container: {name}, role} of specContainers(record.pod.spec!)) {
    if ((role === 'regular' || role === 'sidecar') && !statuses.get(name)?.ready) unready.push(name);
  }
  return unready.length > 0 ? no('ContainersReady', 'ContainersNotReady', `containers with unready status: ${listed(unready)}`) : yes('ContainersReady');
};

/** A pod is ready when its containers are, and every condition is true that it names as a gate. */
const ready = (record: PodRecord, containers: Verdict, others: readonly Frozen<PodCondition>[]): Verdict => {
  if (containers.status !== 'True') return {...containers, type: 'Ready'};
  const complaints = (record.pod.spec?.readinessGates ?? []).flatMap(({conditionType: type}) => {
    const found = others.find(condition => condition.type === type);
    if (!found) return [`corresponding condition of pod readiness gate ${JSON.stringify(type)} does not exist.`];
    return found.status === 'True' ? [] : [`the status of pod readiness gate ${JSON.stringify(type)} is not "True", but ${found.status}`];
  });
  return complaints.length > 0 ? no('Ready', 'ReadinessGatesNotReady', complaints.join(', ')) : yes('Ready');
};

/** A resize that waits, or that is under way. */
const resizes = ({resizing: {pending, progress}}: PodRecord): Verdict[] => [
  ...(pending ? [{...yes('PodResizePending', pending.reason), message: pending.message, observedGeneration: pending.generation}] : []),
  ...(progress ? [{...yes('PodResizeInProgress'), observedGeneration: progress.generation}] : []),
];

/** Conditions that are there for a time only. */
export const passingConditions: readonly string[] = ['PodResizePending', 'PodResizeInProgress'];

const verdicts = (record: PodRecord, statuses: ContainerStatuses, phase: string, others: readonly Frozen<PodCondition>[]): readonly Verdict[] => {
  if (record.refused) return [no('Ready', 'PodFailed'), no('ContainersReady', 'PodFailed')];
  const byName = new Map([...(statuses.initContainerStatuses ?? []), ...(statuses.containerStatuses ?? [])].map(status => [status.name, status]));
  const containers = containersReady(record, byName, phase);
  const started = {type: 'PodReadyToStartContainers', status: record.sandbox === 'up' ? 'True' : 'False'};
  return [...resizes(record), started, initialized(record, byName, phase), ready(record, containers, others), containers, yes('PodScheduled')];
};

/** The conditions that a node's agent answers for, each with the time when its status last changed. */
export const conditionsOf = (record: PodRecord, statuses: ContainerStatuses, phase: string, now: number): PodCondition[] => {
  const {metadata, status} = record.pod;
  const before = status?.conditions ?? [];
  const {generation} = metadata ?? {};
  return verdicts(record, statuses, phase, before).map(verdict => {
    const old = before.find(({type}) => type === verdict.type);
    const lastTransitionTime = old?.status === verdict.status && old.lastTransitionTime ? old.lastTransitionTime : wireTime(now);
    return {...(generation ? {observedGeneration: generation} : {}), ...verdict, lastTransitionTime};
  });
};
