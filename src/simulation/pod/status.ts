import type {ContainerStatus} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import {conditionTrue, type ConditionState} from '#src/platlet/pod/conditions.js';
import {declaredResources, type ContainerInputs, type WaitingReason} from '#src/platlet/pod/container-statuses.js';
import {podStatus, rejectedStatus, type OwnStatus} from '#src/platlet/pod/status.js';
import type {Timeline} from '#src/simulation/time/timeline.js';
import type {ContainerRecord, PodRecord} from './record.js';
import {isReady, isStarted, runtimeOf} from './runtime-view.js';

/** Returns the conditions of a pending or running resize. */
const resizeConditions = ({resizing: {pending, progress}}: PodRecord, timeline: Timeline): ConditionState[] => [
  ...(pending
    ? [
        {
          ...conditionTrue('PodResizePending', pending.reason),
          message: pending.message,
          observedGeneration: pending.generation,
          lastTransitionTime: wireTime(timeline.wallOf(pending.since)),
        },
      ]
    : []),
  ...(progress ? [{...conditionTrue('PodResizeInProgress'), observedGeneration: progress.generation}] : []),
];

const waitingOf = ({containers}: PodRecord): ReadonlyMap<string, WaitingReason> => {
  const waiting = new Map<string, WaitingReason>();
  for (const {name, state} of containers) {
    if (state.is !== 'waiting' || !state.reason) continue;
    waiting.set(name, {reason: state.reason, ...(state.message ? {message: state.message} : {})});
  }
  return waiting;
};

/** Returns the actual and the allocated resources of the containers. */
const resourcesOf =
  ({resizing: {actual, allocated}}: PodRecord): NonNullable<ContainerInputs['resourcesOf']> =>
  of => {
    const {name} = of.container;
    const [own, granted] = [actual.get(name), allocated.get(name)];
    return {
      ...declaredResources(granted ? {...of, container: {...of.container, resources: granted}} : of),
      ...(own ? {resources: own as NonNullable<ContainerStatus['resources']>} : {}),
    };
  };

/** What a status shows besides the record. */
export interface StatusInputs extends Required<Pick<ContainerInputs, 'healthOf'>> {
  readonly hostAddresses: readonly string[];
  readonly timeline: Timeline;
}

/** Returns the status of a pod as its node reports it. */
export const statusOf = (record: PodRecord, {hostAddresses, timeline, healthOf}: StatusInputs): OwnStatus => {
  const {pod, rejection, addresses, sandbox, isFinished, termination, containers} = record;
  const current = timeline.now();
  const now = timeline.wallOf(current);
  const startTime = timeline.wallOf(record.startTime);
  if (rejection) return rejectedStatus(pod, rejection, now, startTime);
  const known = new Map(containers.map(container => [container.name, container]));
  const ofRecord =
    (decide: (own: ContainerRecord, now: number) => boolean): ContainerInputs['isStarted'] =>
    ({container: {name}}) => {
      const own = known.get(name);
      return own !== undefined && decide(own, current);
    };
  return podStatus(pod, {
    runtime: runtimeOf(record, at => timeline.wallOf(at)),
    waiting: waitingOf(record),
    isStarted: ofRecord(isStarted),
    isReady: ofRecord(isReady),
    resourcesOf: resourcesOf(record),
    healthOf,
    now,
    startTime,
    hostAddresses,
    podAddresses: addresses,
    hasSandbox: sandbox === 'up',
    stage: isFinished ? 'finished' : termination ? 'ending' : 'running',
    resize: resizeConditions(record, timeline),
    ...(termination?.disruption ? {disruption: termination.disruption} : {}),
    ...(termination
      ? {
          outcome: {
            ...(termination.reason ? {reason: termination.reason} : {}),
            ...(termination.message ? {message: termination.message} : {}),
            isFailure: termination.failed ?? false,
          },
        }
      : {}),
  });
};
