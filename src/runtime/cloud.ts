// The interface between controllers and a cloud: instances, load balancers and routes. A provider may lack any of them.

import type {Frozen} from '#src/api/key.js';
import type {ObjectOf} from '#src/api/kinds/index.js';
import type {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';

export type Service = ObjectOf<typeof kinds.services>;
export type LoadBalancerStatus = NonNullable<NonNullable<Service['status']>['loadBalancer']>;
export type CloudNode = Frozen<Node>;
export type CloudService = Frozen<Service>;

/** What a cloud knows of the machine of a node. */
export interface InstanceMetadata {
  readonly providerID: string;
  readonly instanceType: string;
  readonly addresses: readonly {readonly type: string; readonly address: string}[];
  readonly zone: string;
  readonly region: string;
}

/** The machines of nodes, found by provider ID, or by name for nodes without one. */
export interface Instances {
  exists(node: CloudNode): Promise<boolean>;
  /** Rejects with `NotImplemented` if the cloud does not know. */
  isShutDown(node: CloudNode): Promise<boolean>;
  /** Rejects if there is no such machine. */
  metadata(node: CloudNode): Promise<InstanceMetadata>;
  /**
   * Returns the ranges that the cloud has for the pods of a machine, in CIDR notation; missing where the cloud
   * allocates none. Rejects if there is no such machine.
   */
  podRanges?(node: CloudNode): Promise<readonly string[]>;
}

/**
 * Load balancers of services. Any call may reject with `RetryLater`; those that change one, with
 * `ImplementedElsewhere`.
 */
export interface LoadBalancers {
  /** Returns the status of a load balancer; undefined if there is none. */
  get(cluster: string, service: CloudService): Promise<LoadBalancerStatus | undefined>;
  name(cluster: string, service: CloudService): string;
  /** Creates the load balancer or brings it up to date. */
  ensure(cluster: string, service: CloudService, nodes: readonly CloudNode[]): Promise<LoadBalancerStatus>;
  /** Changes the nodes of an existing load balancer. */
  update(cluster: string, service: CloudService, nodes: readonly CloudNode[]): Promise<void>;
  /** Does nothing for a load balancer that is gone. */
  ensureDeleted(cluster: string, service: CloudService): Promise<void>;
}

/** A route of the cloud's network to the pods of a node. */
export interface Route {
  readonly name: string;
  /** The node that it leads to; empty if that is unknown. */
  readonly targetNode: string;
  readonly destinationCIDR: string;
  /** Whether `targetNodeAddresses` are kept up to date. */
  readonly enableNodeAddresses?: boolean;
  readonly targetNodeAddresses?: readonly {readonly type: string; readonly address: string}[];
  /** The address that it leads to, if the cloud has one. */
  readonly gatewayAddress?: string;
  /** Whether it leads to a machine that is gone. */
  readonly blackhole?: boolean;
}

export interface Routes {
  list(cluster: string): Promise<readonly Route[]>;
  /** Creates a route under a name of the cloud's choice that contains the hint. */
  create(cluster: string, nameHint: string, route: Omit<Route, 'name'>): Promise<void>;
  delete(cluster: string, route: Route): Promise<void>;
}

/** A cloud. */
export interface CloudProvider {
  readonly name: string;
  readonly instances?: Instances;
  readonly loadBalancers?: LoadBalancers;
  readonly routes?: Routes;
}

/** The cloud cannot answer this. */
export class NotImplemented extends Error {}

/** The load balancer is handled by another program. */
export class ImplementedElsewhere extends Error {}

/** The cloud asks to be called again later. */
export class RetryLater extends Error {
  readonly afterMs: number;

  constructor(message: string, afterMs: number) {
    super(message);
    this.afterMs = afterMs;
  }
}

/** The cloud of a controller manager. With an external provider it is there for volumes and ranges of nodes alone. */
export interface Cloud {
  readonly provider: CloudProvider;
  readonly isExternal: boolean;
}

/** What a provider is opened with. */
export interface ProviderParts {
  /** The path of the provider's configuration; empty for none. */
  readonly configFile: string;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
}
