import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {TokenBucket} from '#src/base/token-bucket.js';
import type {SimulationContext} from '#src/simulation/node/context.js';
import {deviceHealthOf, noteStoredHealth} from './devices/pod-health.js';
import type {DevicePreparation} from './devices/preparation.js';
import {logAnnotation, writeAnnotatedLines} from './log/log-annotation.js';
import {logTail} from './log/log-tail.js';
import {logSource} from './log/source.js';
import type {Agent} from './node/agent.js';
import {allocate, insufficientResource, releaseAllocation, withoutPod} from '#src/platlet/pod/admission/allocation.js';
import {resizeDecision} from '#src/platlet/pod/admission/resize.js';
import type {PodAddresses} from './node/pod-addresses.js';
import {notifyListeners, type Records} from './pod-records.js';
import {advance, type PodContext} from './pod/advance.js';
import {killKey, killsOf} from './pod/kills.js';
import {isRunning, type PodRecord} from './pod/record.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {findMissing, hasReferences} from './pod/references.js';
import {resize, type ResizeContext} from './pod/resize.js';
import {deletePod, writeStatus} from './pod/writes.js';
import type {Behaviors} from './rules/behaviors.js';
import type {NodeVolumes} from './volumes/mounts.js';
import {valueIn} from './streams/target.js';

interface SyncParts {
  readonly context: SimulationContext;
  readonly behaviors: Behaviors;
  readonly addresses: PodAddresses;
  readonly records: Records;
  readonly volumes: NodeVolumes | undefined;
  readonly devices: DevicePreparation;
  /**
   * The rate of intermediate statuses, which show that a pod is starting or terminating: without them a node writes
   * half as much.
   */
  readonly briefBudget: TokenBucket;
}

const eventRecorderFor =
  (agent: Agent, {pod}: PodRecord): PodContext['recordEvent'] =>
  (type, reason, message, fieldPath) =>
    agent.events[type === 'Normal' ? 'normal' : 'warning'](fieldPath ? {...pod, fieldPath} : pod, reason, message);

/**
 * The references of the pod are checked before anything is started, including an ephemeral container that is added
 * later.
 */
const checkReferences = async (agent: Agent, record: PodRecord, now: () => number): Promise<void> => {
  if (!hasReferences(record.pod) || record.isFinished || record.termination) return;
  const {length} = [...specContainers(record.pod.spec!)];
  if (record.containers.length === length && record.containers.every(({state}) => state.is !== 'waiting')) return;
  if (record.missing?.containers === length && now() < record.missing.retryAt) return;
  const missing = await findMissing(agent.client, record.pod, now());
  const {mount} = missing;
  if (mount)
    eventRecorderFor(agent, record)('Warning', 'FailedMount', `MountVolume.SetUp failed for volume "${mount.volume}" : ${mount.why}`);
  record.missing = missing;
};

/** A pod starts or terminates soon if it does so within this time in ms. */
const [startsWithin, endsWithin] = [150, 1500];

/** Whether the pod has no status from its node yet, only its start to report, and runs soon. */
const isJustStarting = ({pod, sandbox, termination, containers}: PodRecord, wait: number): boolean =>
  pod.status?.startTime === undefined &&
  sandbox === 'pending' &&
  !termination &&
  wait <= startsWithin &&
  containers.every(({state}) => state.is === 'waiting' && !state.reason);

/** Whether the pod is being deleted and terminates soon: then its status changes once more. */
const isJustEnding = ({pod, termination}: PodRecord, wait: number): boolean =>
  termination !== undefined && pod.metadata?.deletionTimestamp !== undefined && wait <= endsWithin;

/** Whether a pod needs no sync before its next change: most updates only return the status written last. */
const isUpToDate = ({version, requests, nextAt}: NonNullable<PodRecord['synced']>, {pod, requests: now}: PodRecord, at: number): boolean =>
  version === pod.metadata?.resourceVersion && requests === now && at < nextAt;

/** Whether annotations of the pod request actions that have not been applied yet. */
const isInstructed = (naming: Naming, {metadata}: Frozen<Pod>): boolean =>
  [killKey(naming), logAnnotation(naming)].some(key => metadata?.annotations?.[key] !== undefined);

/** Syncs pods on simulated nodes to the state determined by their rules and the time, and writes their statuses. */
export class PodSync {
  readonly #parts: SyncParts;

  constructor(parts: SyncParts) {
    this.#parts = parts;
  }

  /** Returns the time of the next change of the pod, by the timeline; Infinity for never. */
  async run(agent: Agent, key: string, pod: Frozen<Pod>): Promise<number> {
    const {naming, timeline} = this.#parts.context;
    const record = this.#parts.records.of(agent, key, pod);
    if (record.synced && isUpToDate(record.synced, record, timeline.now())) return record.synced.nextAt;
    delete record.synced;
    const {requests} = record;
    this.#reportBehaviorError(agent, record);
    await checkReferences(agent, record, () => timeline.now());
    if (record.sandbox === 'pending' && !record.isFinished && !record.termination) {
      this.#parts.volumes?.mount(agent, record, timeline.now());
      await this.#parts.devices.prepare(agent, record);
    }
    if (record.sandbox === 'up') await this.#parts.devices.recall(agent, record);
    const resizeAt = resize(record, this.#resizeContext(agent, record));
    const isWritten = writeAnnotatedLines(naming, record, timeline.now());
    const next = Math.min(resizeAt, advance(record, this.#podContext(agent, record)));
    record.requestedExits.clear();
    notifyListeners(record);
    if (this.#isLeftOut(record, next - timeline.now())) return next;
    const isAlone = await writeStatus(agent, record, {
      hostAddresses: agent.machine.addresses,
      timeline,
      healthOf: container => deviceHealthOf(agent, record, container),
      appliedAnnotations: [killKey(naming), ...(isWritten ? [logAnnotation(naming)] : [])],
    });
    noteStoredHealth(agent, record);
    if (record.isFinished && record.pod.metadata?.deletionTimestamp && !isRunning(record) && !record.deleted)
      await deletePod(agent, record);
    else if (isAlone && !isInstructed(naming, record.pod))
      record.synced = {version: record.pod.metadata?.resourceVersion, requests, nextAt: next};
    return next;
  }

  /** Whether an intermediate status is skipped, because of the rate limit. */
  #isLeftOut(record: PodRecord, wait: number): boolean {
    if (record.isFinished || !(isJustStarting(record, wait) || isJustEnding(record, wait))) return false;
    return !this.#parts.briefBudget.tryTake();
  }

  #podContext(agent: Agent, record: PodRecord): PodContext {
    const {behaviors, addresses, records, context} = this.#parts;
    const {timeline, naming} = context;
    return {
      now: timeline.now(),
      images: agent.images,
      behaviorOf: of => behaviors.of(record.pod, of),
      takeAddresses: () => addresses.take(agent, record.pod),
      release: () => records.release(agent, record),
      recordEvent: eventRecorderFor(agent, record),
      logTail: (of, own, until) =>
        logTail(
          logSource(record, own, false, {entries: behaviors.of(record.pod, of).log, valueOf: valueIn({record, of, own}, naming)}).log,
          until,
        ),
      kills: [...killsOf(naming, record.pod), ...[...record.requestedExits].map(([name, exitCode]) => ({name, exitCode}))],
    };
  }

  #resizeContext(agent: Agent, record: PodRecord): ResizeContext {
    const {timeline, nodes, naming} = this.#parts.context;
    return {
      now: timeline.now(),
      decide(allocated) {
        const capacity = nodes.get(record.nodeName)?.status?.allocatable ?? {};
        const decision = resizeDecision(
          {
            naming,
            capacity,
            fixed: {cpu: false, memory: false},
            podLevel: true,
            admit(pod) {
              const rejection = record.allocation && insufficientResource(withoutPod(agent.allocation, record.allocation), capacity, pod);
              return rejection ? {is: 'refused', rejection} : {is: 'admitted'};
            },
          },
          record.pod,
          allocated,
        );
        if (decision.is === 'deferred') agent.deferred.add(record.key);
        return decision;
      },
      reserve() {
        if (record.allocation) releaseAllocation(agent.allocation, record.allocation);
        record.allocation = allocate(agent.allocation, record.pod);
      },
      recordEvent: eventRecorderFor(agent, record),
    };
  }

  /** Records one event for an invalid annotation of the pod. */
  #reportBehaviorError(agent: Agent, record: PodRecord): void {
    const complaint = this.#parts.behaviors.errorOf(record.pod);
    if (complaint && complaint !== record.behaviorError) agent.events.warning(record.pod, 'InvalidBehavior', complaint);
    if (complaint) record.behaviorError = complaint;
    else delete record.behaviorError;
  }
}
