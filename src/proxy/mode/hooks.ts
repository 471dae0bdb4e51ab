// What happens around the syncs of a proxy, beside its rules.

import type {IpFamily} from '#src/proxy/state/ip-family.js';
import type {ProxyState} from './mode.js';

/** The services that load balancers check on the node, each as `namespace/name`. */
export interface HealthChecks {
  /** The ports to serve their checks on. */
  readonly ports: ReadonlyMap<string, number>;
  /** How many ready endpoints services have on the node; those without one are missing. */
  readonly localEndpoints: ReadonlyMap<string, number>;
}

/** Told of the syncs of each family. A failure of one is logged and changes nothing. */
export interface SyncHooks {
  /** A sync was asked for. */
  queued(family: IpFamily): void;
  /** The syncs begin, or one has succeeded. */
  updated(family: IpFamily): void;
  /** What is to be served for load balancers after a sync. */
  checkHealth(family: IpFamily, checks: HealthChecks): void | Promise<void>;
  /** Endpoints of UDP services have changed: flows to those that are gone are to be forgotten. */
  cleanFlows(family: IpFamily, state: ProxyState): Promise<void>;
}

/** Hooks that do nothing. */
export const noHooks: SyncHooks = {
  queued() {},
  updated() {},
  checkHealth() {},
  cleanFlows: () => Promise.resolve(),
};
