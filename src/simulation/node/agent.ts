import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {Lease, Node} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events.js';
import type {AddressPool} from './addresses.js';
import type {Images} from './images.js';
import type {Machine, NodeFailures} from './node-object.js';
import type {NodeAllocation} from './allocation.js';

/** One simulated node at work. */
export interface Agent {
  readonly machine: Machine;
  /** Acts as the node. */
  readonly client: Client;
  readonly events: EventRecorder;
  readonly images: Images;
  /** What its pods take of it. */
  readonly allocation: NodeAllocation;
  /** Pods that wait for room to grow. */
  readonly deferred: Set<string>;
  /** Addresses of its pods, by range. */
  readonly pools: Map<string, AddressPool>;
  /** There is, or was, a Node of it since the start. */
  registered: boolean;
  /** When it was started, on the monotonic clock. */
  readonly startedAt: number;
  /** It was switched off when it was last looked at. */
  isPoweredOff: boolean;
  lease?: Lease;
  /** When to renew the lease next, and when the status was told last; on the monotonic clock. */
  renewAt: number;
  reportedAt: number;
  /** What people were last told of where pods may go. */
  schedulable?: boolean;
}

const stateKey = (naming: Naming): string => naming.subKey('simulation', 'state');
const pressureKey = (naming: Naming): string => naming.subKey('simulation', 'pressure');

/** Whether the machine is switched off, by an instruction or by a rule: its agent does nothing and hears nothing. */
export const isSwitchedOff = (naming: Naming, {machine: {outage}, startedAt}: Agent, node: Frozen<Node> | undefined, now: number): boolean =>
  node?.metadata?.annotations?.[stateKey(naming)] === 'stopped' || (outage !== undefined && now >= startedAt + outage.from && now < startedAt + outage.to);

/** When a rule next switches the machine off or on; Infinity when none does. */
export const nextPowerChange = ({machine: {outage}, startedAt}: Agent, now: number): number =>
  Math.min(...(outage ? [outage.from, outage.to] : []).map(after => startedAt + after).filter(time => time > now), Infinity);

/** Whether all pods are to be sent away. */
export const isDrainRequested = (naming: Naming, node: Frozen<Node>): boolean => node.metadata?.annotations?.[naming.subKey('simulation', 'drain')] === 'true';

/** What instructions on the Node say is wrong with the machine. */
export const simulatedFailures = (naming: Naming, node: Frozen<Node> | undefined): NodeFailures => {
  const {[stateKey(naming)]: state, [pressureKey(naming)]: pressure = ''} = node?.metadata?.annotations ?? {};
  return {
    ...(state === 'not-ready' ? {notReady: 'container runtime is down'} : {}),
    pressures: pressure.split(',').map(type => type.trim()),
  };
};

/** How events about a node point at it: by its name in the place of the id, as the field's programs look for them. */
export const nodeReference = (naming: Naming, name: string) => ({apiVersion: naming.apiVersion('', 'v1'), kind: kinds.nodes.kind, metadata: {name, uid: name}});

/** What of a Node an agent acts on: of its own reports only the capacity, to which others add. */
export const agentInputsOf = ({metadata, spec, status}: Frozen<Node>): unknown => [metadata?.uid, metadata?.annotations, metadata?.labels, spec, status?.capacity];
