// What the health checks and the nodes of a plane say. Pure: the answers are given.

import type {Node} from '#src/api/types.js';
import {isReadyNode} from '#src/model/node-readiness.js';
import type {PlaneAnswer} from './reach.js';

/** One check of the API server or of a component, and whether it passes. */
export interface Check {
  readonly name: string;
  readonly isOk: boolean;
}

/** The health of a plane. */
export interface PlaneHealth {
  readonly checks: readonly Check[];
  readonly nodes: {readonly ready: number; readonly all: number};
  /** What is wrong, one sentence each. */
  readonly problems: readonly string[];
}

/** Returns the checks of a verbose answer of /readyz or /livez. */
export const checksOf = (text: string): readonly Check[] =>
  [...text.matchAll(/^\[([+-])\](\S+)/gm)].map(([, sign, name = '']) => ({name, isOk: sign === '+'}));

/** The number of nodes that are named as not ready. */
const namedNodes = 5;

const nodeProblem = (nodes: readonly Node[]): readonly string[] => {
  const unready = nodes.filter(node => !isReadyNode(node)).map(({metadata}) => metadata?.name ?? '');
  if (unready.length === 0) return [];
  const more = unready.length > namedNodes ? ` and ${unready.length - namedNodes} more` : '';
  return [`${unready.length} of ${nodes.length} nodes are not ready: ${unready.slice(0, namedNodes).join(', ')}${more}`];
};

/** Returns the health of a plane from its answer to /readyz?verbose and its nodes. */
export const healthOf = (ready: PlaneAnswer, nodes: readonly Node[]): PlaneHealth => {
  const checks = checksOf(ready.text);
  const failed = checks.filter(({isOk}) => !isOk).map(({name}) => `the check ${name} fails`);
  const refused = ready.status === 200 || failed.length > 0 ? [] : [`/readyz answers ${ready.status}: ${ready.text.slice(0, 200)}`];
  return {
    checks,
    nodes: {ready: nodes.filter(isReadyNode).length, all: nodes.length},
    problems: [...failed, ...refused, ...nodeProblem(nodes)],
  };
};
