// The settings of the proxy that its modes and its state depend on, in one place for the configuration to fill.

import type {IpFamily} from '#src/proxy/state/ip-family.js';

/** How a proxy tells the traffic of the node's pods from other traffic. */
export type LocalDetection =
  | {readonly by: 'ranges'; readonly ranges: Readonly<Partial<Record<IpFamily, string>>>}
  | {readonly by: 'interface'; readonly name: string}
  | {readonly by: 'interfacePrefix'; readonly prefix: string}
  | {readonly by: 'nothing'};

/** What the rules of all modes depend on. */
export interface RuleSettings {
  readonly nodeName: string;
  /** The addresses of the node, of each family that it has. */
  readonly nodeIps: Readonly<Partial<Record<IpFamily, string>>>;
  /** Whether all traffic to cluster IPs is masqueraded. */
  readonly masqueradeAll: boolean;
  /** The bit of the mark of packets to masquerade. */
  readonly masqueradeBit: number;
  readonly localDetection: LocalDetection;
  /** The ranges of local addresses that take traffic to node ports, resolved; all addresses of a family without any. */
  readonly nodePortAddresses: readonly string[];
}

/** How often the proxy syncs. */
export interface SyncPeriods {
  /** The least time between two syncs. */
  readonly minSyncPeriodMs: number;
  /** The time after which a failed sync is tried again. */
  readonly syncPeriodMs: number;
}
