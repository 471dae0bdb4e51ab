import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {requeueAfter, settled, type Reconcile} from '#src/runtime/controller.js';
import {admissionRejection} from './node/admission.js';
import {logAnnotation, writeAnnotatedLines} from './log/log-annotation.js';
import {logTail} from './log/log-tail.js';
import {logSource} from './log/source.js';
import {isSwitchedOff, type Agent} from './node/agent.js';
import {podAddresses} from './node/pod-addresses.js';
import {releaseAllocation, resizeRejection, allocate} from './node/allocation.js';
import {advance, type PodContext} from './pod/advance.js';
import {killKey, killsOf} from './pod/kills.js';
import {resize, type ResizeContext} from './pod/resize.js';
import {findMissing, hasReferences} from './pod/references.js';
import {isRunning, type PodRecord} from './pod/record.js';
import {recordOf} from './pod/resume.js';
import {isNewer, deletePod, writeStatus} from './pod/writes.js';
import {valueIn, type PodRecords} from './streams/target.js';
import {behaviors as behaviorsOf} from './rules/behaviors.js';
import type {SimulationContext} from './context.js';

/** The records of the pods of simulated nodes, with their reconciler. */
export interface PodReconciler extends PodRecords {
  readonly reconcile: Reconcile;
  /** Restores a pod that ran before, without admission. */
  restore(pod: Frozen<Pod>): void;
}

const conflictRetryMs = 100;

const notifyListeners = ({listeners}: PodRecord): void => {
  // A listener may register again when called: it waits for the next change then.
  const current = [...listeners];
  for (const run of current) run();
};

/** Reconciles the pods that are bound to simulated nodes. */
export const createPodReconciler = (context: SimulationContext): PodReconciler => {
  const {clock, naming, nodes} = context;
  const records = new Map<string, PodRecord>();
  const behaviors = behaviorsOf(naming, context.rules.pods);
  const addresses = podAddresses(context);

  const release = (agent: Agent | undefined, record: PodRecord): void => {
    if (!agent) return;
    if (record.allocation) releaseAllocation(agent.allocation, record.allocation);
    delete record.allocation;
    // Pods may be waiting for the released resources.
    for (const key of agent.deferred) context.enqueuePod(key);
    agent.deferred.clear();
    addresses.release(agent, record.pod, record.addresses);
  };

  const forget = (key: string): void => {
    const record = records.get(key);
    if (!record) return;
    records.delete(key);
    for (const {files} of record.runs.values()) files?.[Symbol.dispose]();
    record.forgottenAt = clock.now();
    notifyListeners(record);
    if (!record.isFinished) release(context.agents.get(record.nodeName), record);
  };

  const createRecord = (agent: Agent, key: string, pod: Frozen<Pod>): PodRecord => {
    const record = recordOf(pod, clock.now(), of => behaviors.of(pod, of));
    records.set(key, record);
    if (record.isFinished) return record;
    const isOld = pod.status?.startTime !== undefined;
    const node = nodes.get(agent.machine.name);
    const rejection = isOld || !node ? undefined : admissionRejection(naming, node, agent.allocation, pod);
    if (rejection) {
      record.isFinished = true;
      record.sandbox = 'down';
      record.rejection = {reason: rejection.reason, message: `Pod was rejected: ${rejection.message}`};
      agent.events.warning(pod, rejection.reason, rejection.message);
      return record;
    }
    record.allocation = allocate(agent.allocation, pod);
    addresses.claim(agent, pod, record.addresses);
    return record;
  };

  const recordFor = (agent: Agent, key: string, pod: Frozen<Pod>): PodRecord => {
    const known = records.get(key);
    if (!known || known.uid !== pod.metadata?.uid) {
      forget(key);
      return createRecord(agent, key, pod);
    }
    if (isNewer(pod, known.pod)) known.pod = pod;
    return known;
  };

  const eventRecorderFor = (agent: Agent, {pod}: PodRecord): PodContext['recordEvent'] => (type, reason, message, fieldPath) =>
    agent.events[type === 'Normal' ? 'normal' : 'warning'](fieldPath ? {...pod, fieldPath} : pod, reason, message);

  const podContext = (agent: Agent, record: PodRecord): PodContext => ({
    now: clock.now(),
    images: agent.images,
    behaviorOf: of => behaviors.of(record.pod, of),
    takeAddresses: () => addresses.take(agent, record.pod),
    release: () => release(agent, record),
    recordEvent: eventRecorderFor(agent, record),
    logTail: (of, own, until) => logTail(logSource(record, own, false, {entries: behaviors.of(record.pod, of).log, valueOf: valueIn({record, of, own}, naming)}).log, until),
    kills: [...killsOf(naming, record.pod), ...[...record.requestedExits].map(([name, exitCode]) => ({name, exitCode}))],
  });

  const resizeContext = (agent: Agent, record: PodRecord): ResizeContext => ({
    now: clock.now(),
    checkRoom() {
      const rejection = record.allocation && resizeRejection(agent.allocation, record.allocation, nodes.get(record.nodeName)?.status?.allocatable ?? {}, record.pod);
      if (rejection) agent.deferred.add(record.key);
      return rejection;
    },
    reserve() {
      if (record.allocation) releaseAllocation(agent.allocation, record.allocation);
      record.allocation = allocate(agent.allocation, record.pod);
    },
    recordEvent: eventRecorderFor(agent, record),
  });

  /** Records an event once for an invalid annotation of the pod. */
  const reportBehaviorError = (agent: Agent, record: PodRecord): void => {
    const complaint = behaviors.errorOf(record.pod);
    if (complaint && complaint !== record.behaviorError) agent.events.warning(record.pod, 'InvalidBehavior', complaint);
    if (complaint) record.behaviorError = complaint;
    else delete record.behaviorError;
  };

  /** References of the pod are checked before anything is started. */
  const checkReferences = async (agent: Agent, record: PodRecord): Promise<void> => {
    if (!hasReferences(record.pod) || record.isFinished || record.termination || record.containers.every(({state}) => state.is !== 'waiting')) return;
    if (record.missing && clock.now() < record.missing.retryAt) return;
    const missing = await findMissing(agent.client, record.pod, clock.now());
    const {mount} = missing;
    if (mount) eventRecorderFor(agent, record)('Warning', 'FailedMount', `MountVolume.SetUp failed for volume "${mount.volume}" : ${mount.why}`);
    record.missing = missing;
  };

  const syncPod = async (agent: Agent, key: string, pod: Frozen<Pod>): Promise<number> => {
    const record = recordFor(agent, key, pod);
    reportBehaviorError(agent, record);
    await checkReferences(agent, record);
    const resizeAt = resize(record, resizeContext(agent, record));
    const isWritten = writeAnnotatedLines(naming, record, clock.now());
    const next = Math.min(resizeAt, advance(record, podContext(agent, record)));
    record.requestedExits.clear();
    notifyListeners(record);
    await writeStatus(agent, record, {hostAddresses: agent.machine.addresses, now: clock.now(), appliedAnnotations: [killKey(naming), ...(isWritten ? [logAnnotation(naming)] : [])]});
    if (record.isFinished && record.pod.metadata?.deletionTimestamp && !isRunning(record) && !record.deleted) await deletePod(agent, record);
    return next;
  };

  return {
    behaviors,
    recordOf: key => records.get(key),
    notifyChanged: notifyListeners,
    end(record, container, exitCode) {
      record.requestedExits.set(container, exitCode);
      context.enqueuePod(record.key);
    },
    async reconcile({namespace, name}) {
      const key = `${namespace}/${name}`;
      const pod = context.pods.get(key);
      const agent = context.agents.get(pod?.spec?.nodeName ?? '');
      if (!pod || !agent) {
        forget(key);
        return settled;
      }
      if (!agent.registered || isSwitchedOff(naming, agent, nodes.get(agent.machine.name), clock.monotonic())) return settled;
      try {
        const next = await syncPod(agent, key, pod);
        return next === Infinity ? settled : requeueAfter(Math.max(0, next - clock.now()));
      } catch (error) {
        if (isNotFound(error)) return settled;
        // The pod was replaced, as the cache will show, or changes concurrently.
        if (isConflict(error)) return requeueAfter(conflictRetryMs);
        throw error;
      }
    },
    restore(pod) {
      const agent = context.agents.get(pod.spec?.nodeName ?? '');
      const {namespace, name} = pod.metadata ?? {};
      if (agent && pod.status?.startTime) createRecord(agent, `${namespace}/${name}`, pod);
    },
  };
};
