// Sets of NUMA nodes as bit masks: bit n stands for node n. Pure.

import {combinations} from '#src/platlet/topology/combinations.js';

export type NumaMask = bigint;

export const maskOf = (nodes: Iterable<number>): NumaMask => [...nodes].reduce((mask, node) => mask | (1n << BigInt(node)), 0n);

export const hasNode = (mask: NumaMask, node: number): boolean => ((mask >> BigInt(node)) & 1n) === 1n;

/** Returns the nodes of a mask, in ascending order. */
export const nodesOf = (mask: NumaMask): number[] => {
  const nodes: number[] = [];
  for (let node = 0, rest = mask; rest > 0n; node++, rest >>= 1n) if (rest & 1n) nodes.push(node);
  return nodes;
};

export const countOf = (mask: NumaMask): number => nodesOf(mask).length;

/** Whether a mask has fewer nodes than another; of as many, whether it has the lower ones. */
export const isNarrower = (a: NumaMask, b: NumaMask): boolean => {
  const [left, right] = [countOf(a), countOf(b)];
  return left === right ? a < b : left < right;
};

/** Returns all masks of some nodes, those of fewer nodes first. */
export const masksOf = function* (nodes: readonly number[]): Generator<NumaMask> {
  for (let count = 1; count <= nodes.length; count++) for (const some of combinations(nodes, count)) yield maskOf(some);
};
