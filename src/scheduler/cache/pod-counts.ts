import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {NodeInfo} from './node-info.js';

/** Counts the pods on a node that match a selector, except those that are terminating. */
export type PodCounter = (node: NodeInfo) => number;

interface Counted {
  version: number;
  count: number;
}

/** The counts of one selector. */
interface SelectorCounts {
  readonly counted: WeakMap<NodeInfo, Counted>;
  /** The number of nodes counted, including nodes deleted since. */
  nodes: number;
}

const bound = new CacheBound('scheduler_pod_counts', 64 << 20);
/** The approximate size of a count. */
const nodeBytes = 100;

/** The most selectors to keep counts for. */
const maxSelectors = 256;

/** Caches pod counts by selector and recounts a node only after it has changed: most pods belong to few workloads, and only one node changes between two of them. */
export class PodCounts {
  readonly #bySelector = new Lru<string, SelectorCounts>(bound, {bytesOf: ({nodes}) => nodes * nodeBytes, maxEntries: maxSelectors});

  /** Returns the counter for pods of a namespace that match a selector. */
  counter(namespace: string, selector: LabelSelector): PodCounter {
    const key = `${namespace} ${selector.toString()}`;
    const counts: SelectorCounts = this.#bySelector.get(key) ?? {counted: new WeakMap(), nodes: 0};
    // Stored again because its size has changed.
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
