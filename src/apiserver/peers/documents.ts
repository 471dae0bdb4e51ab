// The discovery documents of peers: what they serve, and the merge with this server's own document.

import {isPlainObject} from '#src/schema/decode/plain.js';

export interface DiscoveredItem {
  readonly metadata?: {readonly name?: string};
  readonly versions: readonly DiscoveredItemVersion[];
}

export interface DiscoveredItemVersion {
  readonly version: string;
  readonly resources?: readonly {readonly resource: string}[];
}

export const nameOf = ({metadata}: DiscoveredItem): string => metadata?.name ?? '';

/** Returns the groups of an APIGroupDiscoveryList. Throws for anything else. */
export const groupsIn = (body: Buffer): readonly DiscoveredItem[] => {
  const list: unknown = JSON.parse(body.toString());
  if (!isPlainObject(list) || list['kind'] !== 'APIGroupDiscoveryList') throw new Error('the answer is not an APIGroupDiscoveryList');
  const {items = []} = list as {items?: readonly DiscoveredItem[]};
  return items.map(item => ({...item, versions: item.versions ?? []}));
};

/**
 * Merges several orders of names into one that agrees with all of them, as far as they agree with each other: a name
 * comes after those that precede it in any order. Otherwise names keep the order in which they were seen first.
 */
export const mergedOrder = (orders: readonly (readonly string[])[]): readonly string[] => {
  const predecessors = new Map<string, string[]>();
  for (const order of orders)
    for (const [index, name] of order.entries()) {
      const known = predecessors.get(name);
      const previous = order.slice(Math.max(0, index - 1), index);
      if (known) known.push(...previous);
      else predecessors.set(name, previous);
    }
  const result = new Set<string>();
  const begun = new Set<string>();
  for (const first of predecessors.keys()) {
    const path = [first];
    for (let name = path.at(-1); name !== undefined; name = path.at(-1)) {
      begun.add(name);
      // One that is begun already precedes itself: the orders contradict each other.
      const next = predecessors.get(name)!.find(other => !result.has(other) && !begun.has(other));
      if (next !== undefined) path.push(next);
      else result.add(path.pop()!);
    }
  }
  return [...result];
};

const mergedBy = <T>(lists: readonly (readonly T[])[], nameIn: (item: T) => string, merge: (a: T, b: T) => T): readonly T[] => {
  const byName = new Map<string, T>();
  for (const list of lists)
    for (const item of list) {
      const known = byName.get(nameIn(item));
      byName.set(nameIn(item), known ? merge(known, item) : item);
    }
  return mergedOrder(lists.map(list => list.map(nameIn))).map(name => byName.get(name)!);
};

const mergedVersion = (a: DiscoveredItemVersion, b: DiscoveredItemVersion): DiscoveredItemVersion => ({
  ...a,
  resources: mergedBy(
    [a.resources ?? [], b.resources ?? []],
    ({resource}) => resource,
    known => known,
  ),
});

const mergedGroup = (a: DiscoveredItem, b: DiscoveredItem): DiscoveredItem => ({
  ...a,
  versions: mergedBy([a.versions, b.versions], ({version}) => version, mergedVersion),
});

/**
 * Returns the groups that any server serves, each with all its versions and resources. This server's own come first
 * where orders differ.
 */
export const mergedGroups = (lists: readonly (readonly DiscoveredItem[])[]): readonly DiscoveredItem[] =>
  mergedBy(lists, nameOf, mergedGroup);
