// Whether a proxy keeps up with the changes it hears of, and whether its node is to stay.

import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {ipFamilies, type IpFamily} from '#src/proxy/state/ip-family.js';

/** The taint by which an autoscaler announces that it is going to delete a node. */
const toBeDeleted = 'ToBeDeletedByClusterAutoscaler';

export interface ProxyHealthParts {
  readonly clock: Clock;
  /** How long a change may wait for its sync. */
  readonly timeoutMs: number;
  /** The Node of the proxy as it is. */
  node(): Frozen<Node> | undefined;
}

/** The health of the proxy of a family. */
export interface FamilyHealth {
  /** When its rules were last those of the cluster, in ms. */
  readonly lastUpdated: number;
  readonly isHealthy: boolean;
}

/** Is told of changes and syncs. A proxy that was never asked to sync is healthy. */
export class ProxyHealth {
  readonly #parts: ProxyHealthParts;
  readonly #lastUpdated = new Map<IpFamily, number>();
  readonly #queuedAt = new Map<IpFamily, number>();
  #lastNode: Frozen<Node> | undefined;

  constructor(parts: ProxyHealthParts) {
    this.#parts = parts;
  }

  /** A sync of a family was asked for. */
  queued(family: IpFamily): void {
    if (!this.#queuedAt.has(family)) this.#queuedAt.set(family, this.#parts.clock.now());
  }

  /** The rules of a family are those of the cluster. */
  updated(family: IpFamily): void {
    this.#queuedAt.delete(family);
    this.#lastUpdated.set(family, this.#parts.clock.now());
  }

  /** The health of the families that have begun, in a fixed order. */
  get families(): ReadonlyMap<IpFamily, FamilyHealth> {
    const {clock, timeoutMs} = this.#parts;
    const healthOf = (family: IpFamily): [IpFamily, FamilyHealth][] => {
      const lastUpdated = this.#lastUpdated.get(family);
      if (lastUpdated === undefined) return [];
      const queuedAt = this.#queuedAt.get(family);
      return [[family, {lastUpdated, isHealthy: queuedAt === undefined || clock.now() - queuedAt < timeoutMs}]];
    };
    return new Map(ipFamilies.flatMap(healthOf));
  }

  /** Whether all families keep up. */
  get isHealthy(): boolean {
    return [...this.families.values()].every(({isHealthy}) => isHealthy);
  }

  /**
   * Whether load balancers may use the node: it exists, and is not about to be deleted. A Node that is gone counts as
   * it was last.
   */
  get isNodeEligible(): boolean {
    this.#lastNode = this.#parts.node() ?? this.#lastNode;
    const {metadata, spec} = this.#lastNode ?? {};
    if (!this.#lastNode || metadata?.deletionTimestamp) return false;
    return !spec?.taints?.some(({key}) => key === toBeDeleted);
  }
}
