import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {NodeInfo} from './node-info.js';

/** How many pods of a node a selector describes; those that are ending do not count. */
export type PodCounter = (node: NodeInfo) => number;

interface Counted {
  version: number;
  count: number;
}

/** What was counted by one selector. */
interface SelectorCounts {
  readonly counted: WeakMap<NodeInfo, Counted>;
  /** On how many nodes, with those that are gone since. */
  nodes: number;
}

const bound = new CacheBound('scheduler_pod_counts', 64 << 20);
/** What a count takes, about. */
const nodeBytes = 100;

/** So many selectors are remembered: those of the workloads that are being scheduled. */
const maxSelectors = 256;

/** Counts pods by selectors, and counts a node again only after it has changed: most pods are of few workloads, and between two of them one node has. */
export class PodCounts {
  readonly #bySelector = new Lru<string, SelectorCounts>(bound, {bytesOf: ({nodes}) => nodes * nodeBytes, maxEntries: maxSelectors});

  /** The counter for pods of a namespace that a selector describes. */
  counter(namespace: string, selector: LabelSelector): PodCounter {
    const key = `${namespace} ${selector.toString()}`;
    const counts: SelectorCounts = this.#bySelector.get(key) ?? {counted: new WeakMap(), nodes: 0};
    // It has grown since.
    this.#bySelector.set(key, counts);
    return node => {
      const known = counts.counted.get(node);
      if (known?.version === node.version) return known.count;
      let count = 0;
      for (const {namespace: own, labels, pod} of node.pods.values()) {
        if (own === namespace && !pod.metadata?.deletionTimestamp && selector.matches(labels)) count++;
      }
      if (!known) counts.nodes++;
      counts.counted.set(node, {version: node.version, count});
      return count;
    };
  }
}
