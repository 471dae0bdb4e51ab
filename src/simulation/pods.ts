import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {requeueAfter, settled, type Reconcile} from '#src/runtime/controller.js';
import {refusal} from './node/admission.js';
import {logKey, writeInstructed} from './log/instruction.js';
import {lastWords} from './log/last-words.js';
import {logSource} from './log/source.js';
import {isOff, type Agent} from './node/agent.js';
import {podAddresses} from './node/pod-addresses.js';
import {giveBack, resizeLack, take} from './node/room.js';
import {advance, type PodWorld} from './pod/advance.js';
import {killKey, killsOf} from './pod/kills.js';
import {resize, type ResizeWorld} from './pod/resize.js';
import {missingOf, refersToOthers} from './pod/references.js';
import {isRunning, type PodRecord} from './pod/record.js';
import {recordOf} from './pod/resume.js';
import {isNewer, remove, tellStatus} from './pod/writes.js';
import {valueIn, type PodsKept} from './streams/place.js';
import {behaviors as behaviorsOf} from './rules/behaviors.js';
import type {SimulationWorld} from './world.js';

/** What the simulated nodes know of their pods. */
export interface PodKeeper extends PodsKept {
  readonly reconcile: Reconcile;
  /** Takes over a pod that ran before, without asking whether there is room. */
  takeOver(pod: Frozen<Pod>): void;
}

const soonMs = 100;

const tellListeners = ({listeners}: PodRecord): void => {
  // Whoever is told may listen anew at once: that one waits for the next time.
  const told = [...listeners];
  for (const run of told) run();
};

/** Keeps the pods that are bound to simulated nodes. */
export const podKeeper = (world: SimulationWorld): PodKeeper => {
  const {clock, naming, nodes} = world;
  const records = new Map<string, PodRecord>();
  const behaviors = behaviorsOf(naming, world.rules.pods);
  const addresses = podAddresses(world);

  const release = (agent: Agent | undefined, record: PodRecord): void => {
    if (!agent) return;
    if (record.hold) giveBack(agent.room, record.hold);
    delete record.hold;
    // Others may have waited for that room.
    for (const key of agent.deferred) world.lookAtPod(key);
    agent.deferred.clear();
    addresses.giveBack(agent, record.pod, record.addresses);
  };

  const forget = (key: string): void => {
    const record = records.get(key);
    if (!record) return;
    records.delete(key);
    for (const {files} of record.runs.values()) files?.[Symbol.dispose]();
    record.forgottenAt = clock.now();
    tellListeners(record);
    if (!record.over) release(world.agents.get(record.nodeName), record);
  };

  const begin = (agent: Agent, key: string, pod: Frozen<Pod>): PodRecord => {
    const record = recordOf(pod, clock.now(), of => behaviors.of(pod, of));
    records.set(key, record);
    if (record.over) return record;
    const isOld = pod.status?.startTime !== undefined;
    const node = nodes.get(agent.machine.name);
    const refused = isOld || !node ? undefined : refusal(naming, node, agent.room, pod);
    if (refused) {
      record.over = true;
      record.sandbox = 'down';
      record.refused = {reason: refused.reason, message: `Pod was rejected: ${refused.message}`};
      agent.events.warning(pod, refused.reason, refused.message);
      return record;
    }
    record.hold = take(agent.room, pod);
    addresses.claim(agent, pod, record.addresses);
    return record;
  };

  const recordFor = (agent: Agent, key: string, pod: Frozen<Pod>): PodRecord => {
    const known = records.get(key);
    if (!known || known.uid !== pod.metadata?.uid) {
      forget(key);
      return begin(agent, key, pod);
    }
    if (isNewer(pod, known.pod)) known.pod = pod;
    return known;
  };

  const tellOf = (agent: Agent, {pod}: PodRecord): PodWorld['tell'] => (type, reason, message, fieldPath) =>
    agent.events[type === 'Normal' ? 'normal' : 'warning'](fieldPath ? {...pod, fieldPath} : pod, reason, message);

  const podWorld = (agent: Agent, record: PodRecord): PodWorld => ({
    now: clock.now(),
    images: agent.images,
    behaviorOf: of => behaviors.of(record.pod, of),
    takeAddresses: () => addresses.take(agent, record.pod),
    release: () => release(agent, record),
    tell: tellOf(agent, record),
    lastWords: (of, own, until) => lastWords(logSource(record, own, false, {entries: behaviors.of(record.pod, of).log, valueOf: valueIn({record, of, own}, naming)}).log, until),
    kills: [...killsOf(naming, record.pod), ...[...record.ends].map(([name, exitCode]) => ({name, exitCode}))],
  });

  const resizeWorld = (agent: Agent, record: PodRecord): ResizeWorld => ({
    now: clock.now(),
    lack() {
      const refused = record.hold && resizeLack(agent.room, record.hold, nodes.get(record.nodeName)?.status?.allocatable ?? {}, record.pod);
      if (refused) agent.deferred.add(record.key);
      return refused;
    },
    reserve() {
      if (record.hold) giveBack(agent.room, record.hold);
      record.hold = take(agent.room, record.pod);
    },
    tell: tellOf(agent, record),
  });

  /** Tells once of instructions on the pod that nobody understands. */
  const complain = (agent: Agent, record: PodRecord): void => {
    const complaint = behaviors.complaint(record.pod);
    if (complaint && complaint !== record.complaint) agent.events.warning(record.pod, 'InvalidBehavior', complaint);
    if (complaint) record.complaint = complaint;
    else delete record.complaint;
  };

  /** What the pod refers to is looked for before anything of it starts. */
  const lookForOthers = async (agent: Agent, record: PodRecord): Promise<void> => {
    if (!refersToOthers(record.pod) || record.over || record.ending || record.containers.every(({state}) => state.is !== 'waiting')) return;
    if (record.missing && clock.now() < record.missing.again) return;
    const missing = await missingOf(agent.client, record.pod, clock.now());
    const {mount} = missing;
    if (mount) tellOf(agent, record)('Warning', 'FailedMount', `MountVolume.SetUp failed for volume "${mount.volume}" : ${mount.why}`);
    record.missing = missing;
  };

  const keep = async (agent: Agent, key: string, pod: Frozen<Pod>): Promise<number> => {
    const record = recordFor(agent, key, pod);
    complain(agent, record);
    await lookForOthers(agent, record);
    const sizedAt = resize(record, resizeWorld(agent, record));
    const isWritten = writeInstructed(naming, record, clock.now());
    const next = Math.min(sizedAt, advance(record, podWorld(agent, record)));
    record.ends.clear();
    tellListeners(record);
    await tellStatus(agent, record, {hostAddresses: agent.machine.addresses, now: clock.now(), carriedOut: [killKey(naming), ...(isWritten ? [logKey(naming)] : [])]});
    if (record.over && record.pod.metadata?.deletionTimestamp && !isRunning(record) && !record.deleted) await remove(agent, record);
    return next;
  };

  return {
    behaviors,
    recordOf: key => records.get(key),
    changed: tellListeners,
    end(record, container, exitCode) {
      record.ends.set(container, exitCode);
      world.lookAtPod(record.key);
    },
    async reconcile({namespace, name}) {
      const key = `${namespace}/${name}`;
      const pod = world.pods.get(key);
      const agent = world.agents.get(pod?.spec?.nodeName ?? '');
      if (!pod || !agent) {
        forget(key);
        return settled;
      }
      if (!agent.registered || isOff(naming, agent, nodes.get(agent.machine.name), clock.monotonic())) return settled;
      try {
        const next = await keep(agent, key, pod);
        return next === Infinity ? settled : requeueAfter(Math.max(0, next - clock.now()));
      } catch (error) {
        if (isNotFound(error)) return settled;
        // Another one of that name, of which the cache will tell, or one that others change much.
        if (isConflict(error)) return requeueAfter(soonMs);
        throw error;
      }
    },
    takeOver(pod) {
      const agent = world.agents.get(pod.spec?.nodeName ?? '');
      const {namespace, name} = pod.metadata ?? {};
      if (agent && pod.status?.startTime) begin(agent, `${namespace}/${name}`, pod);
    },
  };
};
