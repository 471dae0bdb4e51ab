import type {RequestInfo} from '#src/apiserver/request/request-info.js';

/** The objects that a watch selects. */
export interface WatchedObjects {
  readonly group: string;
  readonly resource: string;
  /** Empty for all namespaces. */
  readonly namespace: string;
  /** Empty for all objects. */
  readonly name: string;
}

const keyOf = (group: string, resource: string, namespace: string, name: string): string => `${group}/${resource}/${namespace}/${name}`;

/**
 * Counts the open watches by what they select. Selectors are ignored, since they are evaluated for every event; only watches of the pods of one node are not
 * counted, since an index leads to them.
 */
export class WatchCounts {
  readonly #counts = new Map<string, number>();

  /** Counts a watch until the returned function is called. */
  add({group, resource, namespace, name}: WatchedObjects): () => void {
    const key = keyOf(group, resource, namespace, name);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return () => {
      const left = this.#counts.get(key)! - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }

  /** Returns the number of watches that may get an event from a write. */
  interestedIn({resource: target}: RequestInfo): number {
    if (!target || this.#counts.size === 0) return 0;
    const {group, resource, namespace, name} = target;
    let count = this.#counts.get(keyOf(group, resource, '', '')) ?? 0;
    if (namespace) count += this.#counts.get(keyOf(group, resource, namespace, '')) ?? 0;
    if (name) count += this.#counts.get(keyOf(group, resource, namespace, name)) ?? 0;
    return count;
  }
}
