import {Heap} from '#src/base/heap.js';
import type {Random} from '#src/base/random.js';

interface ScoredNode {
  readonly name: string;
  readonly total: number;
  /** Decides between equal totals. */
  readonly tie: number;
}

/** The names of nodes, best first: those with the same score in a random order. */
export class SortedNodes {
  readonly #names: readonly string[];
  readonly #totals: readonly number[];
  readonly #random: Random;
  /** Made when a node is first asked for: most pods that are alike share a node, and ask for none. */
  #heap: Heap<ScoredNode> | undefined;

  constructor(names: readonly string[], totals: readonly number[], random: Random) {
    this.#names = names;
    this.#totals = totals;
    this.#random = random;
  }

  get length(): number {
    return this.#heap?.size ?? this.#names.length;
  }

  /** Removes and returns the best node; undefined if none is left. */
  pop(): string | undefined {
    this.#heap ??= this.#sorted();
    return this.#heap.pop()?.name;
  }

  #sorted(): Heap<ScoredNode> {
    const heap = new Heap<ScoredNode>((a, b) => b.total - a.total || b.tie - a.tie);
    for (let at = 0; at < this.#names.length; at++)
      heap.push({name: this.#names[at]!, total: this.#totals[at]!, tie: this.#random.float()});
    return heap;
  }
}

/** Returns the feasible nodes without the one that was chosen. */
export const otherNodes = (
  nodes: readonly {readonly name: string}[],
  totals: readonly number[],
  chosen: string,
  random: Random,
): SortedNodes => {
  const names: string[] = [];
  const others: number[] = [];
  for (let at = 0; at < nodes.length; at++) {
    const {name} = nodes[at]!;
    if (name === chosen) continue;
    names.push(name);
    others.push(totals[at]!);
  }
  return new SortedNodes(names, others, random);
};
