import {Heap} from '#src/base/heap.js';
import type {Random} from '#src/base/random.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';

interface ScoredNode {
  readonly name: string;
  readonly total: number;
  /** Decides between equal totals. */
  readonly tie: number;
}

/** The names of feasible nodes, best first: those with the same score in a random order. */
export class SortedNodes {
  readonly #heap = new Heap<ScoredNode>((a, b) => b.total - a.total || b.tie - a.tie);

  constructor(nodes: readonly Pick<NodeInfo, 'name'>[], totals: readonly number[], random: Random) {
    for (let at = 0; at < nodes.length; at++) this.#heap.push({name: nodes[at]!.name, total: totals[at]!, tie: random.float()});
  }

  get length(): number {
    return this.#heap.size;
  }

  /** Removes and returns the best node; undefined if none is left. */
  pop(): string | undefined {
    return this.#heap.pop()?.name;
  }
}
