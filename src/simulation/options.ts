// The options of a simulation.

import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {Family, Placement} from './node/machine.js';
import type {Rules} from './rules/rules.js';

export interface SimulationOptions {
  /** The number of nodes. */
  readonly nodes: number;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly rules?: Rules;
  /** Whether there is a simulated CSI driver with the default storage class. */
  readonly volumes?: boolean;
  /** The address families of nodes and pods, the primary one first. Default IPv4. */
  readonly families?: readonly Family[];
  /** Names and addresses of nodes and agents. Default: reachable within the process. */
  readonly placement?: Placement;
  /** The version that nodes report. */
  readonly version: string;
  /** The client of the process, which watches pods and nodes for all nodes. */
  readonly client: Client;
  /** Returns a client with the identity of a node. */
  clientAs(user: UserInfo): Client;
  /** The minimum watch timeout to request, if the default of informers is unsuitable. */
  readonly watchSeconds?: number;
  /** The renewal period of leases. Default: 10 s. */
  readonly renewMs?: number;
  /** Whether cached objects are deeply frozen, for tests. */
  readonly freeze?: boolean;
}
