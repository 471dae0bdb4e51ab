// Over which NUMA nodes CPUs are distributed: the least number of nodes, and of those the ones that leave the machine
// most balanced. Pure.

import {combinations} from '#src/platlet/topology/combinations.js';
import type {FreeCpus} from './free-cpus.js';

/** The NUMA nodes that give the same number of CPUs, and those that give the remainder, group by group. */
export interface Distribution {
  readonly nodes: readonly number[];
  readonly each: number;
  readonly remainder: readonly number[];
}

/** A smaller balance is better: the standard deviation of the free CPUs of the NUMA nodes. */
interface Scored {
  readonly balance: number;
  readonly remainder: readonly number[];
}

const thousandths = (value: number): number => Math.round(value * 1000) / 1000;

const balanceOf = (counts: readonly number[]): number => {
  const mean = thousandths(counts.reduce((sum, count) => sum + count, 0) / counts.length);
  return thousandths(Math.sqrt(counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length));
};

/** Returns what is left on each NUMA node after groups were taken in turn; undefined if they do not fit. */
const afterRemainder = (
  left: ReadonlyMap<number, number>,
  nodes: readonly number[],
  remainder: number,
  groupSize: number,
): ReadonlyMap<number, number> | undefined => {
  const after = new Map(left);
  let rest = remainder;
  while (rest > 0) {
    const before = rest;
    for (const numa of nodes) {
      const count = after.get(numa)!;
      if (rest === 0 || count < groupSize) continue;
      after.set(numa, count - groupSize);
      rest -= groupSize;
    }
    if (rest === before) return undefined;
  }
  return after;
};

/** Chooses the nodes that give the remainder: as many as possible, and those with the best balance. */
const scoreOf = (left: ReadonlyMap<number, number>, nodes: readonly number[], remainder: number, groupSize: number): Scored | undefined => {
  if (remainder === 0) return {balance: balanceOf([...left.values()]), remainder: []};
  const able = nodes.filter(numa => left.get(numa)! >= groupSize);
  let best: Scored | undefined;
  for (let count = able.length; count >= 1; count--) {
    for (const subset of combinations(able, count)) {
      const after = afterRemainder(left, subset, remainder, groupSize);
      if (!after) continue;
      const balance = balanceOf([...after.values()]);
      if (!best || balance < best.balance) best = {balance, remainder: subset};
    }
  }
  return best;
};

/** Returns the best distribution of CPUs in groups; undefined if they cannot be distributed evenly. */
export const bestDistribution = (free: FreeCpus, count: number, groupSize: number): Distribution | undefined => {
  const numas = free.sorted('numaNode');
  const sizes = new Map(numas.map(numa => [numa, free.ofNuma(numa).size]));
  const [least, most] = free.numaRange(groupSize);
  for (let size = least; size <= most; size++) {
    let best: (Distribution & {readonly balance: number}) | undefined;
    const each = Math.floor(count / size / groupSize) * groupSize;
    for (const nodes of combinations(numas, size)) {
      if (best?.balance === 0) break;
      const groups = nodes.reduce((sum, numa) => sum + Math.floor(sizes.get(numa)! / groupSize), 0);
      if (groups * groupSize < count || nodes.some(numa => sizes.get(numa)! < each)) continue;
      const left = new Map(numas.map(numa => [numa, sizes.get(numa)! - (nodes.includes(numa) ? each : 0)]));
      const scored = scoreOf(left, nodes, count - each * size, groupSize);
      if (scored && (!best || scored.balance < best.balance)) best = {nodes, each, ...scored};
    }
    if (best) return best;
  }
  return undefined;
};
