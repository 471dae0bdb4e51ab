// What a proxy mode is given, and what it does: it makes the machine route as the state says. Modes are written once
// and run once per family of addresses.

import type {Endpoint} from '#src/proxy/state/endpoint.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import type {ServicePort} from '#src/proxy/state/service-port.js';
import type {RuleSettings} from './settings.js';

/** All that is to be routed in one family. Live maps: they change between syncs, never during one. */
export interface ProxyState {
  /** Service ports by their keys. */
  readonly services: ReadonlyMap<string, ServicePort>;
  /** The endpoints of service ports by the keys of those, sorted by address; also of services that are not proxied. */
  readonly endpoints: ReadonlyMap<string, readonly Endpoint[]>;
  /** The zone of the node. */
  readonly zone: string | undefined;
  /** The ranges of cluster IPs of the family. */
  readonly serviceCidrs: readonly string[];
}

/** What has changed since the last successful sync. */
export interface ProxyChange {
  /** Whether all is to be written again: at first, after a failure, once an hour, and when the node's zone changed. */
  readonly isFull: boolean;
  /** The keys of the service ports that changed, or whose endpoints did. Those of deleted ones are not in the state. */
  readonly ports: ReadonlySet<string>;
  /** The services of these ports, each as `namespace/name`. */
  readonly services: ReadonlySet<string>;
}

/** What a sync has found out. */
export interface SyncResult {
  /** The service ports with a local traffic policy whose endpoints are all on other nodes. */
  readonly withoutLocalEndpoints: {readonly internal: number; readonly external: number};
  /** Whether everything was written, also where less was asked for. */
  readonly wasFull: boolean;
}

/** A way to route services, in one family of addresses. */
export interface ProxyMode {
  readonly family: IpFamily;
  /** Makes the machine's rules those of the state. Calls do not overlap. Rejects if it fails; the next sync is full. */
  sync(state: ProxyState, change: ProxyChange): Promise<SyncResult>;
}

/** Creates a mode for a family. */
export type CreateMode = (family: IpFamily, settings: RuleSettings) => ProxyMode;
