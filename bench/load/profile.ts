import type {Profiler} from 'node:inspector';
import type {ApiClient} from './api-client.js';
import {partOf} from './profile-parts.js';
import {sourceFinder, type Position} from './sources.js';

/** A part of the server, and its share of the samples in which the thread worked. */
export type Share = readonly [part: string, percent: number];

const idle = '(idle)';

/**
 * Returns the share of the time that the thread worked, and of this time the shares of the parts of the server, the
 * largest first.
 */
export const sharesOf = (
  {nodes, samples = []}: Profiler.Profile,
  sourceOf: (position: Position) => string,
): {readonly busy: number; readonly shares: readonly Share[]} => {
  const byId = new Map(nodes.map(node => [node.id, node]));
  const callers = new Map(nodes.flatMap(({id, children = []}) => children.map(child => [child, id])));
  const stackOf = function* (from: number) {
    for (let id: number | undefined = from; id !== undefined; id = callers.get(id)) {
      const {callFrame} = byId.get(id)!;
      yield {functionName: callFrame.functionName, source: sourceOf(callFrame)};
    }
  };
  const partsOfNodes = new Map<number, string>();
  const counts = new Map<string, number>();
  let working = 0;
  for (const sample of samples) {
    if (byId.get(sample)?.callFrame.functionName === idle) continue;
    working++;
    const part = partsOfNodes.get(sample) ?? partOf(stackOf(sample));
    partsOfNodes.set(sample, part);
    counts.set(part, (counts.get(part) ?? 0) + 1);
  }
  return {
    busy: (100 * working) / Math.max(1, samples.length),
    shares: [...counts].sort(([, a], [, b]) => b - a).map(([part, count]): Share => [part, Number(((100 * count) / working).toFixed(1))]),
  };
};

/** Profiles the thread of a server for some seconds. */
export const profiled = async (client: ApiClient, seconds: number): Promise<ReturnType<typeof sharesOf>> =>
  sharesOf(await client.json<Profiler.Profile>('GET', `/debug/pprof/profile?seconds=${seconds}`), sourceFinder());
