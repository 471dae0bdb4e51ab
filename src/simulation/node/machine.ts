import {machineIds, type Machine} from './node-object.js';
import type {MachineSettings, NodeRule} from '#src/simulation/rules/node-rule.js';
import {addressAt} from './addresses.js';

/** Large enough for test workloads. */
const defaultCapacity = {cpu: '32', memory: '256Gi', pods: '110', 'ephemeral-storage': '1Ti', 'hugepages-1Gi': '0', 'hugepages-2Mi': '0'};

/** The address ranges of nodes, by family, and of pods on nodes without pod CIDRs. */
export const ranges = {
  4: {nodes: '10.224.0.0/16', pods: '10.128.0.0/10'},
  6: {nodes: 'fd00:10:224::/64', pods: 'fd00:10:128::/64'},
} as const;

export type Family = keyof typeof ranges;

/** Names, addresses and ports of the nodes of a process, by index. */
export interface Placement {
  name(index: number): string;
  /** At most one per family. */
  addresses(index: number): readonly string[];
  port(index: number): number;
  /** Whether node names resolve to the agents, so that they are reported as addresses. */
  readonly reachedByName: boolean;
}

/** Nodes that are reachable only within the process, each at a separate address. */
export const inProcess = (families: readonly Family[]): Placement => ({
  name: index => `plat-node-${index}`,
  addresses: index => families.map(family => addressAt(ranges[family].nodes, index + 1)),
  port: () => 10_250,
  reachedByName: true,
});

/** The last matching rule with an outage applies. */
const outageOf = (settings: readonly MachineSettings[]): Pick<Machine, 'outage'> => {
  const {stopAfter: from, stopFor = Infinity} = settings.findLast(one => one.stopAfter !== undefined) ?? {};
  return from === undefined ? {} : {outage: {from, to: from + stopFor}};
};

const volumeLimitOf = (settings: readonly MachineSettings[]): Pick<Machine, 'maxVolumes'> => {
  const {maxVolumes} = settings.findLast(one => one.maxVolumes !== undefined) ?? {};
  return maxVolumes === undefined ? {} : {maxVolumes};
};

/** Returns the machine of a node: the defaults, overridden by matching rules in order. */
export const machineOf = (
  index: number,
  {rules, placement, version}: {readonly rules: readonly NodeRule[]; readonly placement: Placement; readonly version: string},
): Machine => {
  const name = placement.name(index);
  const settings = rules.filter(({names}) => !names || names.some(pattern => pattern.test(name))).map(rule => rule.settings);
  const capacity = Object.assign({...defaultCapacity}, ...settings.map(one => one.capacity ?? {})) as Record<string, string>;
  return {
    name,
    ids: machineIds(name),
    addresses: placement.addresses(index),
    ...(placement.reachedByName ? {hostname: name} : {}),
    capacity,
    allocatable: Object.assign({...capacity}, ...settings.map(one => one.allocatable ?? {})) as Record<string, string>,
    labels: Object.assign({}, ...settings.map(one => one.labels ?? {})) as Record<string, string>,
    annotations: Object.assign({}, ...settings.map(one => one.annotations ?? {})) as Record<string, string>,
    taints: settings.flatMap(one => one.taints ?? []),
    ...outageOf(settings),
    ...volumeLimitOf(settings),
    port: placement.port(index),
    version,
  };
};
