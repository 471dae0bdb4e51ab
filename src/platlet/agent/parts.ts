// What an agent is created from.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {GateName} from '#src/options/gate-table.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {Tracer} from '#src/observe/tracer.js';
import type {Host} from '#src/platlet/host/host.js';
import type {NodeAddress} from '#src/platlet/node/addresses.js';
import type {Machine} from '#src/platlet/node/machine.js';
import type {PairStore} from '#src/platlet/certificates/pair-store.js';
import type {GarbageLimits} from '#src/platlet/pod/garbage.js';
import type {Runtime, RuntimeVersion} from '#src/platlet/runtime/runtime.js';
import type {AgentPortsParts} from '#src/platlet/server/ports.js';
import type {Network} from '#src/transport/network.js';

/** Which node an agent is that of, and what its machine is. */
export interface AgentIdentity {
  readonly nodeName: string;
  readonly hostname: string;
  /** Returns the addresses of the machine as they are now. Rejects if it has none. */
  addresses(): Promise<readonly NodeAddress[]>;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly {readonly key: string; readonly value?: string; readonly effect: string}[];
  readonly machine: Machine;
  /** The release that the node reports. */
  readonly version: string;
}

/** The clients of an agent, each with limits of its own. */
export interface AgentClients {
  readonly main: Client;
  readonly events: Client;
  readonly heartbeats: Client;
  /** Whether there is no API server: the clients refuse, and there are the pods of files and URLs alone. */
  readonly isStandalone: boolean;
}

/** What flags say that is no part of the configuration. */
export interface AgentFlags {
  /** The folder of the agent's own data, and that with links to the logs of containers. */
  readonly rootDir: string;
  readonly containerLogs?: string;
  /** The control group of the runtime, which is measured. */
  readonly runtimeGroup?: string;
  readonly garbage: GarbageLimits;
}

/** Whom the port of an agent serves, how, and with which paths of the program. */
export interface AgentServing extends Pick<
  AgentPortsParts,
  'authenticators' | 'anonymous' | 'authorizer' | 'tls' | 'debugging' | 'routes'
> {
  /** Where the certificate that the API server issues for the port is kept, if `tls` has none. */
  readonly servingStore?: PairStore;
}

/** What the program gives an agent. The stages of `startAgent` hand it on beside the values of the stages before. */
export interface AgentParts {
  readonly identity: AgentIdentity;
  readonly settings: Settings;
  readonly flags: AgentFlags;
  gate(name: GateName): boolean;
  readonly clients: AgentClients;
  readonly serving: AgentServing;
  readonly runtime: Runtime;
  readonly runtimeVersion: RuntimeVersion;
  readonly host: Host;
  readonly files: Files;
  readonly network: Network;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  /** What is counted, in the meter. */
  readonly metrics: AgentMetrics;
  readonly tracer?: Pick<Tracer, 'root'> | undefined;
  /** Returns what is wrong with a static pod: what the API server would refuse. Absent: pods are taken as they are. */
  validatePod?(pod: Frozen<Pod>): readonly string[];
}
