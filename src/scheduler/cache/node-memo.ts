import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {NodeInfo} from './node-info.js';

const bound = new CacheBound('scheduler_nodes', 64 << 20);

/** The most columns to keep. */
const maxColumns = 256;

/** The fewest places that a column has. */
const leastPlaces = 64;

/**
 * A number for each node of a cache, which holds until the node changes. In arrays, since hundreds of nodes are looked
 * at for each pod.
 */
export class NodeColumn {
  #versions = new Float64Array(leastPlaces);
  #values = new Float64Array(leastPlaces);

  get bytes(): number {
    return this.#versions.byteLength + this.#values.byteLength;
  }

  /** Returns the number of a node; undefined if it has changed since, or was never set. */
  get({slot, version}: NodeInfo): number | undefined {
    return this.#versions[slot] === version ? this.#values[slot] : undefined;
  }

  set({slot, version}: NodeInfo, value: number): void {
    if (slot < 0) return;
    if (slot >= this.#versions.length) this.#grow(Math.max(slot + 1, 2 * this.#versions.length));
    this.#versions[slot] = version;
    this.#values[slot] = value;
  }

  /** Returns the number of a node, which is computed if it is not known. */
  of(node: NodeInfo, compute: (node: NodeInfo) => number): number {
    const known = this.get(node);
    if (known !== undefined) return known;
    const value = compute(node);
    this.set(node, value);
    return value;
  }

  #grow(places: number): void {
    const [versions, values] = [this.#versions, this.#values];
    this.#versions = new Float64Array(places);
    this.#values = new Float64Array(places);
    this.#versions.set(versions);
    this.#values.set(values);
  }
}

/** Counts the pods on a node that match a selector, except those that are terminating. */
export type PodCounter = (node: NodeInfo) => number;

const countPods = ({pods}: NodeInfo, namespace: string, selector: LabelSelector): number => {
  let count = 0;
  for (const {namespace: own, labels, pod} of pods.values())
    if (own === namespace && !pod.metadata?.deletionTimestamp && selector.matches(labels)) count++;
  return count;
};

/**
 * Keeps what depends on nothing but a node and a text: most pods belong to few workloads, and only one node changes
 * between two of them.
 */
export class NodeMemo {
  readonly #columns = new Lru<string, NodeColumn>(bound, {bytesOf: ({bytes}) => bytes, maxEntries: maxColumns});

  /** Returns the column for a text, which must state everything that the numbers depend on beside the node. */
  column(text: string): NodeColumn {
    const column = this.#columns.get(text) ?? new NodeColumn();
    // Stored again because its size may have changed.
    this.#columns.set(text, column);
    return column;
  }

  /** Returns the counter for pods of a namespace that match a selector. */
  podCounter(namespace: string, selector: LabelSelector): PodCounter {
    // The text of a selector that matches nothing is that of one that matches everything.
    const column = this.column(`pods ${namespace} ${selector.empty} ${selector.toString()}`);
    const count = (node: NodeInfo) => countPods(node, namespace, selector);
    return node => column.of(node, count);
  }

  /** Returns whether a node has a label. */
  hasLabel(key: string): (node: NodeInfo) => boolean {
    const column = this.column(`label ${key}`);
    const has = ({labels}: NodeInfo) => (labels[key] === undefined ? 0 : 1);
    return node => column.of(node, has) === 1;
  }
}
