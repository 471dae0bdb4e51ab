/**
 * A set of fields as a trie in the form it has on the wire (meta/v1 FieldsV1): a key for each path element, `{}` for a field that is in the set
 * and has nothing below it, `"."` for one that is in the set itself beside fields below it. At the root `{}` is the empty set. Never changed once
 * made, so that sets share their parts.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

export type MutableFieldSet = Record<string, FieldSet>;

/** A field without fields below it. */
export const leaf: FieldSet = Object.freeze({});
/** The root of a set without fields. */
export const noFields: FieldSet = leaf;

export const isEmpty = (set: FieldSet): boolean => {
  for (const _ in set) return false;
  return true;
};

/** Whether the field of this node is itself in the set. */
export const isMember = (node: FieldSet): boolean => '.' in node || isEmpty(node);

/** How many fields are in the set. */
export const countOf = (set: FieldSet): number => {
  let count = 0;
  for (const key in set) if (key !== '.') count += (isMember(set[key]!) ? 1 : 0) + countOf(set[key]!);
  return count;
};

/** Whether fields below this node are in the set. */
export const hasBelow = (node: FieldSet): boolean => {
  for (const key in node) if (key !== '.') return true;
  return false;
};

/** The node of a field of which `below` lists what is in the set under it; undefined when nothing is. */
export const nodeOf = (member: boolean, below: FieldSet | undefined): FieldSet | undefined => {
  if (!below || isEmpty(below)) return member ? leaf : undefined;
  return member ? {'.': leaf, ...below} : below;
};

const below = (node: FieldSet): FieldSet => {
  if (!('.' in node)) return node;
  const {'.': _, ...rest} = node;
  return rest;
};

/** Fields in either. */
export const union = (a: FieldSet, b: FieldSet): FieldSet => {
  if (a === b || isEmpty(b)) return a;
  if (isEmpty(a)) return b;
  const result: MutableFieldSet = {...a};
  for (const key in b) {
    const mine = a[key];
    const other = b[key]!;
    result[key] = mine === undefined || mine === other ? other : unionOfNodes(mine, other);
  }
  return result;
};

/**
 * Fields in any of the sets. Walks all of them together, so that the union of many costs what they hold, not what has been gathered once for each.
 */
export const unionOf = (sets: readonly FieldSet[]): FieldSet => {
  const filled = sets.filter(set => !isEmpty(set));
  if (filled.length <= 1) return filled[0] ?? noFields;
  const nodes = new Map<string, FieldSet[]>();
  for (const set of filled) {
    for (const key in set) {
      const found = nodes.get(key);
      if (found) found.push(set[key]!);
      else nodes.set(key, [set[key]!]);
    }
  }
  const result: MutableFieldSet = {};
  for (const [key, same] of nodes) result[key] = same.length === 1 ? same[0]! : key === '.' ? leaf : nodeOf(same.some(isMember), below(unionOf(same)))!;
  return result;
};

const unionOfNodes = (a: FieldSet, b: FieldSet): FieldSet => nodeOf(isMember(a) || isMember(b), union(below(a), below(b)))!;

/** Fields in both. A container of fields is in it only when both name it. */
export const intersection = (a: FieldSet, b: FieldSet): FieldSet => {
  const result: MutableFieldSet = {};
  for (const key in a) {
    const other = b[key];
    if (key === '.' || other === undefined) continue;
    const node = nodeOf(isMember(a[key]!) && isMember(other), intersection(a[key]!, other));
    if (node) result[key] = node;
  }
  return result;
};

/** Fields of `a` that are not in `b`. Fields below a member of `b` stay. Yields `a` itself when nothing goes. */
export const difference = (a: FieldSet, b: FieldSet): FieldSet => without(a, b, false);

/** Fields of `a` that neither are in `b` nor lie below a member of it. */
export const recursiveDifference = (a: FieldSet, b: FieldSet): FieldSet => without(a, b, true);

const without = (a: FieldSet, b: FieldSet, recursive: boolean): FieldSet => {
  let result: MutableFieldSet | undefined;
  // By what `a` has: one large set is taken from the small ones of many owners.
  for (const key in a) {
    const other = b[key];
    if (key === '.' || other === undefined) continue;
    const mine = a[key]!;
    const left = nodeWithout(mine, other, recursive);
    if (left === mine) continue;
    result ??= {...a};
    if (left === undefined) delete result[key];
    else result[key] = left;
  }
  return result ?? a;
};

const nodeWithout = (mine: FieldSet, other: FieldSet, recursive: boolean): FieldSet | undefined => {
  const goes = isMember(other);
  if (goes && recursive) return undefined;
  const kept = isMember(mine) && !goes;
  const rest = without(mine, other, recursive);
  if (rest === mine && kept === isMember(mine)) return mine;
  return nodeOf(kept, below(rest));
};

/** Whether both hold the same fields. */
export const isEqual = (a: FieldSet, b: FieldSet): boolean => {
  if (a === b) return true;
  let count = 0;
  for (const key in a) {
    const other = b[key];
    if (other === undefined || !isEqual(a[key]!, other)) return false;
    count++;
  }
  for (const _ in b) count--;
  return count === 0;
};

/** Whether every field of `a` is in `b`. */
export const isWithin = (a: FieldSet, b: FieldSet): boolean => {
  for (const key in a) {
    if (key === '.') continue;
    const other = b[key];
    if (other === undefined || (isMember(a[key]!) && !isMember(other)) || !isWithin(a[key]!, other)) return false;
  }
  return true;
};

/** Whether some field is in both. Walks `a`, which is to be the smaller one. */
export const overlaps = (a: FieldSet, b: FieldSet): boolean => {
  for (const key in a) {
    const other = b[key];
    if (key === '.' || other === undefined) continue;
    if ((isMember(a[key]!) && isMember(other)) || overlaps(a[key]!, other)) return true;
  }
  return false;
};

/** The set of the given paths. */
export const setOf = (paths: Iterable<readonly string[]>): FieldSet => {
  let set = noFields;
  for (const path of paths) set = union(set, path.reduceRight<FieldSet>((node, element) => ({[element]: node}), leaf));
  return set;
};
