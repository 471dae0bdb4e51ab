import type {Frozen} from '#src/api/key.js';
import type {Pod, PodCondition, PodStatus} from '#src/api/pod.js';
import {sameJson} from '#src/api/equal.js';
import {wireTime} from '#src/api/time.js';
import type {Timeline} from '#src/simulation/timeline.js';
import {conditionsOf, transientConditions} from './conditions.js';
import {containerStatuses} from './container-status.js';
import {phaseOf} from './phase.js';
import type {PodRecord} from './record.js';

/** The fields of a pod's status that its node sets. Other fields are left alone. */
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
>;
const ownFields = [
  'phase',
  'reason',
  'message',
  'observedGeneration',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
] as const;

/** A terminal phase is final, and it is not reported while containers run. */
const reportedPhase = (record: PodRecord): string => {
  const {phase: before = 'Pending'} = record.pod.status ?? {};
  if (before === 'Succeeded' || before === 'Failed') return before;
  const phase = phaseOf(record);
  return (phase === 'Succeeded' || phase === 'Failed') && !record.isFinished ? before : phase;
};

/** Returns the status of a pod as its node reports it. */
export const statusOf = (record: PodRecord, hostAddresses: readonly string[], timeline: Timeline): OwnStatus => {
  const {metadata, status: before} = record.pod;
  const phase = reportedPhase(record);
  const generation = metadata?.generation;
  const isDone = phase === 'Failed' || phase === 'Succeeded';
  const {reason, message} = record.rejection ?? (isDone ? (record.termination ?? {}) : {});
  const common = {
    phase,
    ...((reason ?? (before?.phase === phase && before.reason)) ? {reason: reason ?? before?.reason} : {}),
    ...((message ?? (before?.phase === phase && before.message)) ? {message: message ?? before?.message} : {}),
    ...(generation ? {observedGeneration: generation} : {}),
    startTime: before?.startTime ?? wireTime(timeline.wallOf(record.startTime)),
  } as OwnStatus;
  const time = wireTime(timeline.wallOf(timeline.now()));
  if (record.rejection) return {...common, conditions: conditionsOf(record, {}, phase, time)};
  const statuses = containerStatuses(record, timeline);
  const [hostIP] = hostAddresses;
  const [podIP] = record.addresses;
  return {
    ...common,
    conditions: conditionsOf(record, statuses, phase, time),
    ...(hostIP ? {hostIP, hostIPs: hostAddresses.map(ip => ({ip}))} : {}),
    ...(podIP ? {podIP, podIPs: record.addresses.map(ip => ({ip}))} : {}),
    ...statuses,
  };
};

/** Returns the changed conditions, with null for removed fields: the lists are merged. */
const changedConditions = (own: readonly PodCondition[], before: readonly Frozen<PodCondition>[]): Record<string, unknown>[] =>
  own.flatMap(condition => {
    const stored = withoutProbe(before.find(({type}) => type === condition.type));
    if (sameJson(condition, stored)) return [];
    const removed = Object.keys(stored ?? {}).filter(key => !(key in condition));
    return [{...condition, ...Object.fromEntries(removed.map(key => [key, null]))}];
  });

const withoutProbe = (condition: Frozen<PodCondition> | undefined): object | undefined => {
  if (!condition || !('lastProbeTime' in condition)) return condition;
  const {lastProbeTime: _, ...rest} = condition;
  return rest;
};

/** Returns the strategic merge patch that updates the stored status to `own`; undefined if it is up to date. */
export const statusPatch = ({status = {}}: Frozen<Pod>, own: OwnStatus): Record<string, unknown> | undefined => {
  const patch: Record<string, unknown> = {};
  for (const field of ownFields) {
    if (own[field] === undefined) {
      if (status[field] !== undefined) patch[field] = null;
    } else if (!sameJson(own[field], status[field])) patch[field] = own[field];
  }
  const others = (status.conditions ?? []).filter(({type}) => !own.conditions?.some(condition => condition.type === type));
  const removed = others.filter(({type}) => transientConditions.includes(type));
  const conditions = [
    ...changedConditions(own.conditions ?? [], status.conditions ?? []),
    ...removed.map(({type}) => ({type, $patch: 'delete'})),
  ];
  if (conditions.length > 0) {
    patch['$setElementOrder/conditions'] = [
      ...others.filter(({type}) => !transientConditions.includes(type)),
      ...(own.conditions ?? []),
    ].map(({type}) => ({type}));
    patch['conditions'] = conditions;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
};
