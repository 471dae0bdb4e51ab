// The claims that are, or may be, prepared on a node, and the pods that use them.

import type {Frozen} from '#src/api/key.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import {anyDriver} from './metrics.js';

/** A device as the plugin of its driver described it. */
export interface PreparedDevice {
  readonly pool: string;
  readonly device: string;
  readonly share?: string;
  /** The requests of the claim that it is for; empty for all. */
  readonly requests: readonly string[];
  /** Its names for the runtime. */
  readonly cdiIds: readonly string[];
}

/** What is known of a claim. */
export interface ClaimState {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** The uids of the pods that use it. */
  readonly pods: ReadonlySet<string>;
  /** The devices of each driver that has allocated something, which may be none. */
  readonly drivers: ReadonlyMap<string, readonly PreparedDevice[]>;
}

/** A claim as it changes. */
export interface ClaimInfo extends ClaimState {
  readonly pods: Set<string>;
  readonly drivers: Map<string, readonly PreparedDevice[]>;
  /** Whether this process has had it prepared. */
  isPrepared: boolean;
}

/** Returns what is known of an allocated claim before it is prepared. Throws if it is not allocated. */
export const claimInfoOf = ({metadata, status}: Frozen<DeviceClaim>): ClaimInfo => {
  const {uid = '', name = '', namespace = ''} = metadata ?? {};
  if (!status?.allocation) throw new Error(`ResourceClaim ${name}: not allocated`);
  const drivers = (status.allocation.devices?.results ?? []).map(({driver}) => [driver, []] as const);
  return {uid, name, namespace, pods: new Set(), drivers: new Map(drivers), isPrepared: false};
};

/** Returns the devices of a claim for one of its requests, or for all. */
export const cdiIdsOf = ({drivers}: ClaimState, request = ''): readonly string[] =>
  [...drivers.values()]
    .flat()
    .filter(({requests}) => request === '' || requests.length === 0 || requests.includes(request))
    .flatMap(({cdiIds}) => cdiIds);

const keyOf = ({namespace, name}: Pick<ClaimState, 'namespace' | 'name'>): string => `${namespace}/${name}`;

/** The claims by namespace and name. */
export class ClaimInfos {
  readonly #claims: Map<string, ClaimInfo>;

  constructor(restored: readonly ClaimState[]) {
    this.#claims = new Map(
      restored.map(state => [keyOf(state), {...state, pods: new Set(state.pods), drivers: new Map(state.drivers), isPrepared: false}]),
    );
  }

  get all(): Iterable<ClaimInfo> {
    return this.#claims.values();
  }

  get(name: string, namespace: string): ClaimInfo | undefined {
    return this.#claims.get(keyOf({name, namespace}));
  }

  add(info: ClaimInfo): void {
    this.#claims.set(keyOf(info), info);
  }

  delete(info: Pick<ClaimState, 'namespace' | 'name'>): void {
    this.#claims.delete(keyOf(info));
  }

  /** The pods that have a device. */
  podsWith(driver: string, pool: string, device: string): readonly string[] {
    return [...this.#claims.values()].flatMap(({drivers, pods}) =>
      drivers.get(driver)?.some(one => one.pool === pool && one.device === device) ? [...pods] : [],
    );
  }

  /** Counts the claims that are prepared, by driver, and all of them. */
  inUse(): ReadonlyMap<string, number> {
    const prepared = [...this.#claims.values()].filter(({isPrepared}) => isPrepared);
    const counts = new Map<string, number>();
    for (const {drivers} of prepared) for (const driver of drivers.keys()) counts.set(driver, (counts.get(driver) ?? 0) + 1);
    return counts.set(anyDriver, prepared.length);
  }
}
