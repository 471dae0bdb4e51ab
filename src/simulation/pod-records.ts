import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {SimulationContext} from '#src/simulation/node/context.js';
import {admitAtOnce, type PromptNodeState} from '#src/platlet/pod/admission/admission.js';
import {rejectionOutcome} from '#src/platlet/pod/admission/rejection.js';
import {isNodeShutdown, type Agent} from './node/agent.js';
import {allocate, releaseAllocation} from '#src/platlet/pod/admission/allocation.js';
import type {PodAddresses} from './node/pod-addresses.js';
import type {PodRecord} from './pod/record.js';
import {recordOf} from './pod/resume.js';
import {isNewer} from './pod/writes.js';
import type {NodeVolumes} from './volumes/mounts.js';
import type {Behaviors} from './rules/behaviors.js';

const pressures = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The node state for the admission of a new pod. Preemption is not simulated. */
const nodeState = (naming: Naming, node: Frozen<Node>, {allocation, devices}: Agent): PromptNodeState => ({
  naming,
  node,
  pressures: (node.status?.conditions ?? [])
    .filter(({type, status}) => status === 'True' && pressures.includes(type))
    .map(({type}) => type),
  allowedSysctls: [],
  features: {podLevelResources: true, declared: node.status?.declaredFeatures ?? []},
  isShuttingDown: isNodeShutdown(naming, node),
  allocation,
  pods: [],
  reserve: pod => devices.reserve(pod),
  heldBeside: pod => devices.heldBeside(pod),
});

/** Calls the listeners of a pod. */
export const notifyListeners = ({listeners}: PodRecord): void => {
  // A listener may register again when called: then it waits for the next change.
  const current = [...listeners];
  for (const run of current) run();
};

interface RecordParts {
  readonly context: SimulationContext;
  /** The records, by key. */
  readonly known: Map<string, PodRecord>;
  readonly behaviors: Behaviors;
  readonly addresses: PodAddresses;
  /** Undefined where volumes are not simulated. */
  readonly volumes: NodeVolumes | undefined;
}

/** The records of pods by key, and their allocated resources and addresses. */
export class Records {
  readonly #parts: RecordParts;
  readonly #records: Map<string, PodRecord>;

  constructor(parts: RecordParts) {
    this.#parts = parts;
    this.#records = parts.known;
  }

  get(key: string): PodRecord | undefined {
    return this.#records.get(key);
  }

  /**
   * Returns the record of a pod, which is admitted if it is new. The record of an earlier pod of the same name is
   * dropped.
   */
  of(agent: Agent, key: string, pod: Frozen<Pod>): PodRecord {
    const known = this.#records.get(key);
    if (!known || known.uid !== pod.metadata?.uid) {
      this.forget(key);
      return this.create(agent, key, pod);
    }
    if (isNewer(pod, known.pod)) known.pod = pod;
    return known;
  }

  create(agent: Agent, key: string, pod: Frozen<Pod>): PodRecord {
    const {context, behaviors, addresses, volumes} = this.#parts;
    const {timeline, naming, nodes} = context;
    const record = recordOf(pod, timeline, of => behaviors.of(pod, of));
    this.#records.set(key, record);
    if (record.isFinished) return record;
    const isOld = pod.status?.startTime !== undefined;
    const node = nodes.get(agent.machine.name);
    const admission = isOld || !node ? undefined : admitAtOnce(nodeState(naming, node, agent), pod);
    if (admission?.is === 'refused') {
      const {rejection} = admission;
      agent.devices.release(record.uid);
      record.isFinished = true;
      record.sandbox = 'down';
      record.rejection = rejectionOutcome(rejection);
      agent.events.warning(pod, rejection.reason, rejection.message);
      return record;
    }
    if (isOld) agent.devices.restore(pod);
    record.allocation = allocate(agent.allocation, pod);
    addresses.claim(agent, pod, record.addresses);
    if (isOld && record.sandbox === 'up') volumes?.restore(agent, record);
    return record;
  }

  forget(key: string): void {
    const {context} = this.#parts;
    const record = this.#records.get(key);
    if (!record) return;
    this.#records.delete(key);
    for (const {files} of record.runs.values()) files?.[Symbol.dispose]();
    record.forgottenAt = context.timeline.now();
    notifyListeners(record);
    const agent = context.agents.get(record.nodeName);
    if (!record.isFinished && agent) this.release(agent, record);
  }

  /** Releases the resources and addresses of the pod. */
  release(agent: Agent, record: PodRecord): void {
    const {context, addresses} = this.#parts;
    if (record.allocation) releaseAllocation(agent.allocation, record.allocation);
    delete record.allocation;
    agent.devices.release(record.uid);
    this.#parts.volumes?.release(agent, record);
    // Pods with a deferred resize may be waiting for the released resources.
    for (const key of agent.deferred) context.enqueuePod(key);
    agent.deferred.clear();
    addresses.release(agent, record.pod, record.addresses);
  }
}
