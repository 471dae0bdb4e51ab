import type {Machine} from './node-object.js';
import {addressAt} from './addresses.js';

/** What rules may say of a node's machine. */
export interface MachineSettings {
  readonly capacity?: Readonly<Record<string, string>>;
  /** The capacity, but for what is given here. */
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: Machine['taints'];
  /** How long after its start it is switched off, in ms, and for how long: for good unless given. */
  readonly stopAfter?: number;
  readonly stopFor?: number;
}

export interface NodeRule {
  /** Names of nodes; every node unless given. */
  readonly names?: readonly RegExp[];
  readonly settings: MachineSettings;
}

/** A big machine, so that what is tried on a laptop finds room. */
const defaultCapacity = {cpu: '32', memory: '256Gi', pods: '110', 'ephemeral-storage': '1Ti', 'hugepages-1Gi': '0', 'hugepages-2Mi': '0'};

/** Where the machines' addresses come from, by family, and those of pods on nodes without ranges of their own. */
export const ranges = {
  4: {nodes: '10.224.0.0/16', pods: '10.128.0.0/10'},
  6: {nodes: 'fd00:10:224::/64', pods: 'fd00:10:128::/64'},
} as const;

export type Family = keyof typeof ranges;

/** How the nodes of a process are called and where their agents answer, by their number from 0. */
export interface Placement {
  name(index: number): string;
  /** One of each family at most. */
  addresses(index: number): readonly string[];
  port(index: number): number;
  /** Whether the names of nodes lead to their agents, so that nodes report them as addresses. */
  readonly reachedByName: boolean;
}

/** Nodes that are reached within the process alone, each at an address of its own. */
export const inProcess = (families: readonly Family[]): Placement => ({
  name: index => `plat-node-${index}`,
  addresses: index => families.map(family => addressAt(ranges[family].nodes, index + 1)),
  port: () => 10_250,
  reachedByName: true,
});

/** The last rule that speaks of an outage counts. */
const outageOf = (settings: readonly MachineSettings[]): Pick<Machine, 'outage'> => {
  const {stopAfter: from, stopFor = Infinity} = settings.findLast(one => one.stopAfter !== undefined) ?? {};
  return from === undefined ? {} : {outage: {from, to: from + stopFor}};
};

/** The machine behind a node: what is usual, with what the rules for its name say, each adding to those before. */
export const machineOf = (index: number, {rules, placement, version}: {readonly rules: readonly NodeRule[]; readonly placement: Placement; readonly version: string}): Machine => {
  const name = placement.name(index);
  const settings = rules.filter(({names}) => !names || names.some(pattern => pattern.test(name))).map(rule => rule.settings);
  const capacity = Object.assign({...defaultCapacity}, ...settings.map(one => one.capacity ?? {})) as Record<string, string>;
  return {
    name,
    addresses: placement.addresses(index),
    ...(placement.reachedByName ? {hostname: name} : {}),
    capacity,
    allocatable: Object.assign({...capacity}, ...settings.map(one => one.allocatable ?? {})) as Record<string, string>,
    labels: Object.assign({}, ...settings.map(one => one.labels ?? {})) as Record<string, string>,
    annotations: Object.assign({}, ...settings.map(one => one.annotations ?? {})) as Record<string, string>,
    taints: settings.flatMap(one => one.taints ?? []),
    ...outageOf(settings),
    port: placement.port(index),
    version,
  };
};
