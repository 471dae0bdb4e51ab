import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Lease, Node} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {AddressPool} from './addresses.js';
import type {Images} from './images.js';
import type {Machine} from './node-object.js';
import type {NodeFailures} from '#src/platlet/node/conditions.js';
import type {NodeAllocation} from '#src/platlet/pod/admission/allocation.js';

/** The agent of a simulated node. */
export interface Agent {
  readonly machine: Machine;
  /** A client with the node's identity. */
  readonly client: Client;
  readonly events: EventRecorder;
  readonly images: Images;
  /** What its pods use of the node. */
  readonly allocation: NodeAllocation;
  /** The keys of the pods that use attachable volumes, by the volumes' names. */
  readonly volumesInUse: Map<string, Set<string>>;
  /** Pods whose resize waits for room. */
  readonly deferred: Set<string>;
  /** Address pools of its pods, by range. */
  readonly pools: Map<string, AddressPool>;
  /** Whether its Node has been registered since the start. */
  registered: boolean;
  /** When what it can do is announced again, by the monotonic clock. */
  announceAt: number;
  /** When it was started, by the monotonic clock. */
  readonly startedAt: number;
  /** Whether it was switched off at the last sync. */
  isPoweredOff: boolean;
  lease?: Lease;
  /** When to renew the lease next, and when the status was last reported; monotonic. */
  renewAt: number;
  reportedAt: number;
  /** The last recorded schedulability. */
  schedulable?: boolean;
}

const stateKey = (naming: Naming): string => naming.subKey('simulation', 'state');
const pressureKey = (naming: Naming): string => naming.subKey('simulation', 'pressure');

/** Whether the machine is switched off, by an annotation or a rule: its agent does nothing. */
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

/** Whether all pods are to be evicted. */
export const isDrainRequested = (naming: Naming, node: Frozen<Node>): boolean =>
  node.metadata?.annotations?.[naming.subKey('simulation', 'drain')] === 'true';

/** Returns the failures that annotations of the Node simulate. */
export const simulatedFailures = (naming: Naming, node: Frozen<Node> | undefined): NodeFailures => {
  const {[stateKey(naming)]: state, [pressureKey(naming)]: pressure = ''} = node?.metadata?.annotations ?? {};
  return {
    ...(state === 'not-ready' ? {notReady: 'container runtime is down'} : {}),
    pressures: pressure.split(',').map(type => type.trim()),
  };
};

/**
 * Returns the parts of a Node that the agent acts on. Of its own status only the capacity, as other components extend
 * it.
 */
export const agentInputsOf = ({metadata, spec, status}: Frozen<Node>): unknown => [
  metadata?.uid,
  metadata?.annotations,
  metadata?.labels,
  spec,
  status?.capacity,
];
