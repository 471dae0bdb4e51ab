import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Lease, Node} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events.js';
import type {AddressPool} from './addresses.js';
import type {Images} from './images.js';
import type {Machine, Troubles} from './node-object.js';
import type {Room} from './room.js';

/** One simulated node at work. */
export interface Agent {
  readonly machine: Machine;
  /** Acts as the node. */
  readonly client: Client;
  readonly events: EventRecorder;
  readonly images: Images;
  /** What its pods take of it. */
  readonly room: Room;
  /** Addresses of its pods, by range. */
  readonly pools: Map<string, AddressPool>;
  /** There is, or was, a Node of it since the start. */
  registered: boolean;
  lease?: Lease;
  /** When to renew the lease next, and when the status was told last; on the monotonic clock. */
  renewAt: number;
  reportedAt: number;
  seen?: {readonly unschedulable: boolean};
}

const stateKey = (naming: Naming): string => naming.subKey('simulation', 'state');
const pressureKey = (naming: Naming): string => naming.subKey('simulation', 'pressure');

/** Whether the machine was switched off by an instruction: its agent does nothing and hears nothing. */
export const isStopped = (naming: Naming, node: Frozen<Node> | undefined): boolean => node?.metadata?.annotations?.[stateKey(naming)] === 'stopped';

/** What instructions on the Node say is wrong with the machine. */
export const troublesOf = (naming: Naming, node: Frozen<Node> | undefined): Troubles => {
  const {[stateKey(naming)]: state, [pressureKey(naming)]: pressure = ''} = node?.metadata?.annotations ?? {};
  return {
    ...(state === 'not-ready' ? {notReady: 'container runtime is down'} : {}),
    pressures: pressure.split(',').map(type => type.trim()),
  };
};

/** What of a Node an agent acts on: its own reports are not among it. */
export const instructionsOf = ({metadata, spec}: Frozen<Node>): unknown => [metadata?.uid, metadata?.annotations, metadata?.labels, spec];
