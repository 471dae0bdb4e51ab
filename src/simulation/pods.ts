import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {Pod} from '#src/api/pod.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {againAfter, settled, type Reconcile} from '#src/runtime/controller.js';
import {refusal} from './node/admission.js';
import {isOff, type Agent} from './node/agent.js';
import {AddressPool} from './node/addresses.js';
import {giveBack, resizeLack, take} from './node/room.js';
import {advance, type PodWorld} from './pod/advance.js';
import {killsOf} from './pod/kills.js';
import {resize, type ResizeWorld} from './pod/resize.js';
import {isRunning, type PodRecord} from './pod/record.js';
import {recordOf} from './pod/resume.js';
import {statusOf, statusPatch} from './pod/status.js';
import {behaviors as behaviorsOf, type Behaviors} from './rules/behaviors.js';
import type {SimulationWorld} from './world.js';

/** What the simulated nodes know of their pods. */
export interface PodKeeper {
  readonly behaviors: Behaviors;
  recordOf(key: string): PodRecord | undefined;
  readonly reconcile: Reconcile;
  /** Takes over a pod that ran before, without asking whether there is room. */
  takeOver(pod: Frozen<Pod>): void;
}

const isNewer = (a: Frozen<Pod>, b: Frozen<Pod>): boolean => Number(a.metadata?.resourceVersion) > Number(b.metadata?.resourceVersion);

/** Keeps the pods that are bound to simulated nodes. */
export const podKeeper = (world: SimulationWorld): PodKeeper => {
  const {clock, naming, nodes} = world;
  const records = new Map<string, PodRecord>();

  const behaviors = behaviorsOf(naming, world.rules.pods);

  const poolsOf = (agent: Agent): AddressPool[] => {
    const {podCIDR, podCIDRs} = nodes.get(agent.machine.name)?.spec ?? {};
    const ranges = podCIDRs?.length ? podCIDRs : podCIDR ? [podCIDR] : [];
    if (ranges.length === 0) return world.sharedPools;
    return ranges.map(range => {
      let pool = agent.pools.get(range);
      if (!pool) agent.pools.set(range, (pool = new AddressPool(range)));
      return pool;
    });
  };

  const takeAddresses = (agent: Agent, {pod}: PodRecord): readonly string[] =>
    pod.spec?.hostNetwork ? agent.machine.addresses : poolsOf(agent).flatMap(pool => pool.take() ?? []);

  const release = (agent: Agent | undefined, record: PodRecord): void => {
    if (!agent) return;
    if (record.hold) giveBack(agent.room, record.hold);
    delete record.hold;
    // Others may have waited for that room.
    for (const key of agent.deferred) world.lookAtPod(key);
    agent.deferred.clear();
    if (record.pod.spec?.hostNetwork) return;
    for (const pool of [...agent.pools.values(), ...world.sharedPools]) for (const address of record.addresses) pool.free(address);
  };

  const forget = (key: string): void => {
    const record = records.get(key);
    if (!record) return;
    records.delete(key);
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
    if (!pod.spec?.hostNetwork) for (const pool of poolsOf(agent)) for (const address of record.addresses) pool.claim(address);
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
    takeAddresses: () => takeAddresses(agent, record),
    release: () => release(agent, record),
    tell: tellOf(agent, record),
    kills: killsOf(naming, record.pod),
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

  const write = async (agent: Agent, record: PodRecord): Promise<void> => {
    const {metadata} = record.pod;
    const status = statusPatch(record.pod, statusOf(record, agent.machine.addresses, clock.now()));
    const killed = killsOf(naming, record.pod).length > 0;
    if (!status && !killed) return;
    const patch = {
      metadata: {uid: record.uid, ...(killed ? {annotations: {[naming.subKey('simulation', 'kill')]: null}} : {})},
      ...(status ? {status} : {}),
    };
    const options = {subresource: 'status', ...(metadata?.namespace ? {namespace: metadata.namespace} : {})};
    const written = await agent.client.resource(kinds.pods).patch(metadata?.name ?? '', 'strategic', patch, options);
    if (isNewer(written, record.pod)) record.pod = written;
  };

  const remove = async (agent: Agent, record: PodRecord): Promise<void> => {
    const {name = '', namespace = ''} = record.pod.metadata ?? {};
    await agent.client.resource(kinds.pods).delete(name, {namespace, gracePeriodSeconds: 0, preconditions: {uid: record.uid}});
    record.deleted = true;
  };

  /** Tells once of instructions on the pod that nobody understands. */
  const complain = (agent: Agent, record: PodRecord): void => {
    const complaint = behaviors.complaint(record.pod);
    if (complaint && complaint !== record.complaint) agent.events.warning(record.pod, 'InvalidBehavior', complaint);
    if (complaint) record.complaint = complaint;
    else delete record.complaint;
  };

  const keep = async (agent: Agent, key: string, pod: Frozen<Pod>): Promise<number> => {
    const record = recordFor(agent, key, pod);
    complain(agent, record);
    const sizedAt = resize(record, resizeWorld(agent, record));
    const next = Math.min(sizedAt, advance(record, podWorld(agent, record)));
    await write(agent, record);
    if (record.over && record.pod.metadata?.deletionTimestamp && !isRunning(record) && !record.deleted) await remove(agent, record);
    return next;
  };

  return {
    behaviors,
    recordOf: key => records.get(key),
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
        return next === Infinity ? settled : againAfter(Math.max(0, next - clock.now()));
      } catch (error) {
        // Gone, or another one of that name: the cache will tell.
        if (isNotFound(error) || isConflict(error)) return settled;
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
