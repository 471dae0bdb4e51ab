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

/** The numbers of watches of one resource: of all its objects, and of parts (`namespace/`, or `namespace/name`). */
interface ResourceCounts {
  readonly group: string;
  readonly resource: string;
  all: number;
  readonly parts: Map<string, number>;
}

const partOf = (namespace: string, name: string): string => `${namespace}/${name}`;

/**
 * Counts the open watches by what they select. Selectors are ignored, since they are evaluated for every event; only
 * watches of the pods of one node are not counted, since an index leads to them.
 */
export class WatchCounts {
  /** By resource; groups whose resources have the same name are few. */
  readonly #counts = new Map<string, ResourceCounts[]>();

  /** Counts a watch until the returned function is called. */
  add(watched: WatchedObjects): () => void {
    this.#count(watched, 1);
    return () => this.#count(watched, -1);
  }

  /** Returns the number of watches that may get an event from a write. */
  interestedIn({resource: target}: RequestInfo): number {
    const counts = target && this.#of(target.group, target.resource);
    if (!counts) return 0;
    const {all, parts} = counts;
    if (parts.size === 0) return all;
    const {namespace, name} = target;
    const ofNamespace = namespace ? (parts.get(partOf(namespace, '')) ?? 0) : 0;
    const ofObject = name ? (parts.get(partOf(namespace, name)) ?? 0) : 0;
    return all + ofNamespace + ofObject;
  }

  #count({group, resource, namespace, name}: WatchedObjects, change: 1 | -1): void {
    const counts = this.#of(group, resource) ?? this.#added(group, resource);
    if (namespace === '' && name === '') counts.all += change;
    else {
      const part = partOf(namespace, name);
      const count = (counts.parts.get(part) ?? 0) + change;
      if (count > 0) counts.parts.set(part, count);
      else counts.parts.delete(part);
    }
    if (counts.all === 0 && counts.parts.size === 0) this.#remove(counts);
  }

  #of(group: string, resource: string): ResourceCounts | undefined {
    return this.#counts.get(resource)?.find(counts => counts.group === group);
  }

  #added(group: string, resource: string): ResourceCounts {
    const counts: ResourceCounts = {group, resource, all: 0, parts: new Map()};
    this.#counts.set(resource, [...(this.#counts.get(resource) ?? []), counts]);
    return counts;
  }

  #remove(counts: ResourceCounts): void {
    const others = this.#counts.get(counts.resource)!.filter(other => other !== counts);
    if (others.length > 0) this.#counts.set(counts.resource, others);
    else this.#counts.delete(counts.resource);
  }
}
