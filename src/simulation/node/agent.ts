import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Lease, Node} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {noPressure, type PressureState} from '#src/platlet/eviction/pressure.js';
import type {Pressure} from '#src/platlet/eviction/signals.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {NodeDevices} from '#src/simulation/node-devices/node-devices.js';
import type {AddressPool} from './addresses.js';
import type {Images} from './images.js';
import type {Machine} from './node-object.js';
import type {NodeFailures} from '#src/platlet/node/conditions.js';
import type {ShutdownGroup} from '#src/platlet/node/shutdown-groups.js';
import type {NodeAllocation} from '#src/platlet/pod/admission/allocation.js';

/** The pressure of a simulated node, and the evictions for it. */
export interface AgentPressure {
  readonly state: PressureState;
  readonly pressures: readonly Pressure[];
  /** The scarce resources at the last look. */
  readonly scarce: readonly string[];
  /** The time of the next look, in monotonic ms. */
  readonly lookAt: number;
  /** The pod that is being evicted: the next look waits for its end, until a time in monotonic ms. */
  readonly victim?: {readonly record: {readonly isFinished: boolean}; readonly until: number};
}

/** No pressure. */
export const unpressed: AgentPressure = {state: noPressure, pressures: [], scarce: [], lookAt: 0};

/** The agent of a simulated node. */
export interface Agent {
  readonly machine: Machine;
  /** A client with the identity of the node. */
  readonly client: Client;
  readonly events: EventRecorder;
  readonly images: Images;
  /** The resources allocated to its pods. */
  readonly allocation: NodeAllocation;
  /** Its devices, and the containers that have them. */
  readonly devices: NodeDevices;
  /** The keys of the pods that use attachable volumes, by volume name. */
  readonly volumesInUse: Map<string, Set<string>>;
  /** Pods whose resize is deferred. */
  readonly deferred: Set<string>;
  /** The address pools of its pods, by range. */
  readonly pools: Map<string, AddressPool>;
  /** Whether another agent had its name before, whose Node may still be in the cache. */
  readonly isSuccessor: boolean;
  /** Whether its Node has been registered since the start. */
  registered: boolean;
  /** When its drivers and devices are announced again, in monotonic ms. */
  announceAt: number;
  pressure: AgentPressure;
  /** The pods that end while the node shuts down, and those that do after them. */
  shutdown: AgentShutdown | undefined;
  /** The start of the machine, in monotonic ms. */
  readonly startedAt: number;
  /** Whether the machine was switched off at the last sync. */
  isPoweredOff: boolean;
  lease?: Lease;
  /** The time of the next lease renewal, and of the last status report, in monotonic ms. */
  renewAt: number;
  reportedAt: number;
  /** Whether the node was schedulable when the last event about it was recorded. */
  schedulable?: boolean;
}

/** A shutdown that goes on. */
export interface AgentShutdown {
  readonly ending: {readonly group: ShutdownGroup; readonly until: number} | undefined;
  readonly later: readonly ShutdownGroup[];
}

/** The annotation that shuts a node down, and says how long its pods may take. */
export const shutdownKey = (naming: Naming): string => naming.subKey('simulation', 'shutdown');

/** Whether the node is to shut down. */
export const isNodeShutdown = (naming: Naming, node: Frozen<Node> | undefined): boolean =>
  !['', 'false'].includes(node?.metadata?.annotations?.[shutdownKey(naming)] ?? '');

const stateKey = (naming: Naming): string => naming.subKey('simulation', 'state');
const pressureKey = (naming: Naming): string => naming.subKey('simulation', 'pressure');

/** Whether the machine is switched off, by an annotation or a rule. */
export const isSwitchedOff = (
  naming: Naming,
  {machine: {outage}, startedAt}: Agent,
  node: Frozen<Node> | undefined,
  now: number,
): boolean =>
  node?.metadata?.annotations?.[stateKey(naming)] === 'stopped' ||
  (outage !== undefined && now >= startedAt + outage.from && now < startedAt + outage.to);

/** Returns when a rule next switches the machine off or on; Infinity if none does. */
export const nextPowerChange = ({machine: {outage}, startedAt}: Agent, now: number): number =>
  Math.min(...(outage ? [outage.from, outage.to] : []).map(after => startedAt + after).filter(time => time > now), Infinity);

/** Whether a drain of the node is requested. */
export const isDrainRequested = (naming: Naming, node: Frozen<Node>): boolean =>
  node.metadata?.annotations?.[naming.subKey('simulation', 'drain')] === 'true';

const pressureWords = (naming: Naming, node: Frozen<Node> | undefined): readonly string[] =>
  (node?.metadata?.annotations?.[pressureKey(naming)] ?? '').split(',').map(word => word.trim());

/** The resources that an annotation may make scarce. */
const scarceable: readonly string[] = ['memory', 'disk', 'pid'];

/** Returns the resources of which a node has almost nothing left, by its annotation. */
export const scarceResources = (naming: Naming, node: Frozen<Node>): readonly string[] =>
  pressureWords(naming, node).filter(word => scarceable.includes(word));

/** Returns the failures that annotations of the Node simulate. */
export const simulatedFailures = (naming: Naming, {pressure}: Agent, node: Frozen<Node> | undefined): NodeFailures => ({
  ...(isNodeShutdown(naming, node) ? {notReady: 'node is shutting down'} : {}),
  ...(node?.metadata?.annotations?.[stateKey(naming)] === 'not-ready' ? {notReady: 'container runtime is down'} : {}),
  pressures: [...pressureWords(naming, node), ...pressure.pressures],
});

/**
 * Returns the fields of a Node that the agent reacts to. Of its status that is only the capacity, which other
 * components may extend.
 */
export const agentInputsOf = ({metadata, spec, status}: Frozen<Node>): unknown => [
  metadata?.uid,
  metadata?.annotations,
  metadata?.labels,
  spec,
  status?.capacity,
];
