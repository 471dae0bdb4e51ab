// Finds controllers that trigger themselves: all that caused a reconcile is what one of the same key wrote before.

import type {ReconcileRecord} from '#page/api/recorder.js';
import type {Causes} from '#page/history/causes.js';

/** A key whose reconciles caused each other again and again. */
export interface Loop {
  readonly controller: string;
  readonly key: string;
  /** How many reconciles in a row caused each other. */
  readonly length: number;
  readonly seqs: ReadonlySet<number>;
}

/** Once or twice is usual: a controller sees what it has written, and has nothing more to do. */
const leastLength = 4;

export const loopsOf = (reconciles: readonly ReconcileRecord[], causes: Causes): readonly Loop[] => {
  const lengths = new Map<number, readonly number[]>();
  const longest = new Map<string, Loop>();
  for (const each of reconciles) {
    const sources = causes.sourcesOf(each);
    const isOwn =
      sources.length === each.causes.length && sources.every(({controller, key}) => controller === each.controller && key === each.key);
    const source = isOwn ? sources.findLast(({seq}) => seq < each.seq) : undefined;
    const row = source ? [...(lengths.get(source.seq) ?? [source.seq]), each.seq] : [each.seq];
    lengths.set(each.seq, row);
    const name = `${each.controller} ${each.key}`;
    if (row.length >= leastLength && row.length > (longest.get(name)?.length ?? 0))
      longest.set(name, {controller: each.controller, key: each.key, length: row.length, seqs: new Set(row)});
  }
  return [...longest.values()].sort((one, other) => other.length - one.length);
};
