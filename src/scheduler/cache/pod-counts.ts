import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {Lru} from '#src/base/lru.js';
import type {NodeInfo} from './node-info.js';

/** How many pods of a node a selector describes; those that are ending do not count. */
export type PodCounter = (node: NodeInfo) => number;

interface Counted {
  version: number;
  count: number;
}

/** So many selectors are remembered: those of the workloads that are being scheduled. */
const remembered = 256;

/** Counts pods by selectors, and counts a node again only after it has changed: most pods are of few workloads, and between two of them one node has. */
export class PodCounts {
  readonly #memos = new Lru<string, WeakMap<NodeInfo, Counted>>(remembered);

  /** The counter for pods of a namespace that a selector describes. */
  counter(namespace: string, selector: LabelSelector): PodCounter {
    const key = `${namespace} ${selector.toString()}`;
    const memo = this.#memos.get(key) ?? new WeakMap<NodeInfo, Counted>();
    this.#memos.set(key, memo);
    return node => {
      const known = memo.get(node);
      if (known?.version === node.version) return known.count;
      let count = 0;
      for (const {namespace: own, labels, pod} of node.pods.values()) {
        if (own === namespace && !pod.metadata?.deletionTimestamp && selector.matches(labels)) count++;
      }
      memo.set(node, {version: node.version, count});
      return count;
    };
  }
}
