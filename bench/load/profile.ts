import type {Profiler} from 'node:inspector';
import type {ApiClient} from './api-client.js';

/** A function, and its share of the samples in which the thread worked. */
export type Share = readonly [name: string, percent: number];

const length = 12;
const idle = '(idle)';

/** Returns the functions in which most of the working time of a profile was spent themselves, and the share of the time that the thread worked. */
export const sharesOf = ({nodes, samples = []}: Profiler.Profile): {readonly busy: number; readonly shares: readonly Share[]} => {
  const names = new Map(nodes.map(({id, callFrame}) => [id, callFrame.functionName || '(anonymous)']));
  const counts = new Map<string, number>();
  for (const sample of samples) {
    const name = names.get(sample) ?? '(unknown)';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const working = samples.length - (counts.get(idle) ?? 0);
  counts.delete(idle);
  const shares = [...counts].sort(([, a], [, b]) => b - a).slice(0, length);
  return {
    busy: (100 * working) / Math.max(1, samples.length),
    shares: shares.map(([name, count]): Share => [name, Number(((100 * count) / working).toFixed(1))]),
  };
};

/** Profiles the thread of a server for some seconds. */
export const profiled = async (client: ApiClient, seconds: number): Promise<ReturnType<typeof sharesOf>> =>
  sharesOf(await client.json<Profiler.Profile>('GET', `/debug/pprof/profile?seconds=${seconds}`));
