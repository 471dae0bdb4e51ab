import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {SimulationContext} from './context.js';
import {AddressPool} from './addresses.js';
import type {Agent} from './agent.js';

/** Pod addresses: from the pod CIDRs of the node, from a shared range if it has none, or those of the node itself. */
export interface PodAddresses {
  /** Returns one address per range; none of an exhausted one. */
  take(agent: Agent, pod: Frozen<Pod>): readonly string[];
  /** Reserves the addresses of an existing pod. */
  claim(agent: Agent, pod: Frozen<Pod>, addresses: readonly string[]): void;
  release(agent: Agent, pod: Frozen<Pod>, addresses: readonly string[]): void;
}

export const podAddresses = ({nodes, sharedPools}: Pick<SimulationContext, 'nodes' | 'sharedPools'>): PodAddresses => {
  const poolsOf = ({machine, pools}: Agent): readonly AddressPool[] => {
    const {podCIDR, podCIDRs} = nodes.get(machine.name)?.spec ?? {};
    const ranges = podCIDRs?.length ? podCIDRs : podCIDR ? [podCIDR] : [];
    if (ranges.length === 0) return sharedPools;
    return ranges.map(range => {
      const pool = pools.get(range) ?? new AddressPool(range);
      pools.set(range, pool);
      return pool;
    });
  };
  return {
    take: (agent, {spec}) => (spec?.hostNetwork ? agent.machine.addresses : poolsOf(agent).flatMap(pool => pool.take() ?? [])),
    claim(agent, {spec}, addresses) {
      if (spec?.hostNetwork) return;
      for (const pool of poolsOf(agent)) for (const address of addresses) pool.claim(address);
    },
    release(agent, {spec}, addresses) {
      if (spec?.hostNetwork) return;
      for (const pool of [...agent.pools.values(), ...sharedPools]) for (const address of addresses) pool.free(address);
    },
  };
};
