import type {Index, Lister} from '#informers/lister.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {Budget} from '#src/simulation/files/files.js';
import type {AddressPool} from './addresses.js';
import type {Timeline} from '#src/simulation/time/timeline.js';
import type {Agent} from './agent.js';
import type {Rules} from '#src/simulation/rules/rules.js';

/** Pods by node. */
export const podsByNode: Index<Pod> = {name: 'node', values: ({spec}) => (spec?.nodeName ? [spec.nodeName] : [])};

/** Pods by address, except those on the host network. */
export const podsByAddress: Index<Pod> = {
  name: 'address',
  values: ({spec, status}) => (spec?.hostNetwork ? [] : (status?.podIPs ?? []).flatMap(({ip}) => ip ?? [])),
};

/** Shared by all parts of the simulation. */
export interface SimulationContext {
  readonly naming: Naming;
  readonly clock: Clock;
  /** The clock of pods. */
  readonly timeline: Timeline;
  readonly random: Random;
  readonly log: Log;
  readonly rules: Rules;
  /** The renewal period of leases. */
  readonly renewMs: number;
  readonly nodes: Lister<Node>;
  readonly pods: Lister<Pod>;
  /** The client of the process, for changes by rules that require administrator rights. */
  readonly client: Client;
  /** Address pools for pods on nodes without pod CIDRs. */
  readonly sharedPools: AddressPool[];
  readonly agents: ReadonlyMap<string, Agent>;
  /** The size limit of all containers' files. */
  readonly fileBudget: Budget;
  /** Queues a pod, by key. */
  enqueuePod(key: string): void;
}
