// The inputs of an agent.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {InstalledProviders} from '#src/platlet/credential-providers/load.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {GateName} from '#src/options/gate-table.js';
import type {CgroupDriver} from '#src/platlet/cgroups/driver.js';
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

/** The identity of a node and of its machine. */
export interface AgentIdentity {
  readonly nodeName: string;
  readonly hostname: string;
  /** Returns the current addresses of the machine. Rejects if it has none. */
  addresses(): Promise<readonly NodeAddress[]>;
  /** Whether an external cloud provider sets the addresses of the Node: those that it has are kept. */
  readonly hasExternalCloud?: boolean;
  /** The addresses of `--node-ip` for that provider, comma separated. */
  readonly providedAddresses?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly {readonly key: string; readonly value?: string; readonly effect: string}[];
  readonly machine: Machine;
  /** The version that the node reports. */
  readonly version: string;
}

/** The clients of an agent, each with its own rate limits. */
export interface AgentClients {
  readonly main: Client;
  readonly events: Client;
  readonly heartbeats: Client;
  /** Whether the agent runs without an API server: the clients refuse all requests, and only static pods run. */
  readonly isStandalone: boolean;
}

/** The flags that are not fields of the configuration file. */
export interface AgentFlags {
  /** The data directory of the agent, and the directory with links to container logs. */
  readonly rootDir: string;
  readonly containerLogs?: string | undefined;
  /** The cgroup of the runtime, whose usage is reported. */
  readonly runtimeGroup?: string;
  readonly garbage: GarbageLimits;
  /** Whether pods may use what must stay free so that none is evicted. */
  readonly allocatesThresholds: boolean;
  /** How cgroups are managed; by their folders if absent. */
  readonly cgroupDriver?: CgroupDriver;
  /** The program that mounts volumes from within an image of its own. */
  readonly mounterPath?: string;
}

/** How the port of an agent is served: authentication, authorization and the paths of the program. */
export interface AgentServing extends Pick<
  AgentPortsParts,
  'authenticators' | 'anonymous' | 'authorizer' | 'tls' | 'debugging' | 'routes'
> {
  /** Where the serving certificate issued by the API server is kept, if `tls` has none. */
  readonly servingStore?: PairStore;
}

/** What the program passes to an agent. The stages of `startAgent` pass it on beside the results of earlier stages. */
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
  /** The counters and histograms, registered in the meter. */
  readonly metrics: AgentMetrics;
  readonly tracer?: Pick<Tracer, 'root'> | undefined;
  /** The programs that provide credentials for images; undefined without. */
  readonly credentialProviders?: InstalledProviders | undefined;
  /** Returns what the API server would reject in a static pod. Absent: static pods are not validated. */
  validatePod?(pod: Frozen<Pod>): readonly string[];
}
