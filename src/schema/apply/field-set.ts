// Sets of fields and their algebra. A set is the decoded `fieldsV1` of a managed fields entry; sets are immutable and
// share parts, so that operations on large sets cost only what they change.

/**
 * A set of fields as a trie, encoded as in meta/v1 FieldsV1: one key per path element, `{}` for a member without fields
 * below it, `"."` for a member that has fields below it. At the root `{}` is the empty set. Sets are immutable and
 * share parts.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

export type MutableFieldSet = Record<string, FieldSet>;

/** A member without fields below it. */
export const leaf: FieldSet = Object.freeze({});
/** The root of an empty set. */
export const noFields: FieldSet = leaf;

export const isEmpty = (set: FieldSet): boolean => {
  for (const _ in set) return false;
  return true;
};

/** Reports whether the field of this node is itself a member. */
export const isMember = (node: FieldSet): boolean => '.' in node || isEmpty(node);

/** Returns the number of fields in the set. */
export const countOf = (set: FieldSet): number => {
  let count = 0;
  for (const key in set) if (key !== '.') count += (isMember(set[key]!) ? 1 : 0) + countOf(set[key]!);
  return count;
};

/** Reports whether there are members below this node. */
export const hasBelow = (node: FieldSet): boolean => {
  for (const key in node) if (key !== '.') return true;
  return false;
};

/** Returns the node of a field with the members of `below` under it; undefined for an empty node. */
export const nodeOf = (member: boolean, below: FieldSet | undefined): FieldSet | undefined => {
  if (!below || isEmpty(below)) return member ? leaf : undefined;
  return member ? withBelow({'.': leaf}, below) : below;
};

/** Returns the node, to which the members below another one are added. */
const withBelow = (node: MutableFieldSet, other: FieldSet): FieldSet => {
  for (const key in other) if (key !== '.') node[key] = other[key]!;
  return node;
};

/** Returns a node without its own membership. */
export const belowOf = (node: FieldSet): FieldSet => ('.' in node ? withBelow({}, node) : node);

/** Returns the fields in either set. */
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

/** Returns the fields in any of the sets. Merges all sets at once, so that the cost is linear in their total size. */
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
  for (const [key, same] of nodes)
    result[key] = same.length === 1 ? same[0]! : key === '.' ? leaf : nodeOf(same.some(isMember), belowOf(unionOf(same)))!;
  return result;
};

const unionOfNodes = (a: FieldSet, b: FieldSet): FieldSet => nodeOf(isMember(a) || isMember(b), union(belowOf(a), belowOf(b)))!;

/** Returns the fields in both sets. A container is a member only if it is a member of both. */
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

/**
 * Returns the fields of `a` that are not in `b`. Fields below a member of `b` stay. Returns `a` itself when nothing is
 * removed.
 */
export const difference = (a: FieldSet, b: FieldSet): FieldSet => {
  let result: MutableFieldSet | undefined;
  // Iterate over `a`: one large set is subtracted from the small ones of many managers.
  for (const key in a) {
    const mine = a[key]!;
    const other = key === '.' ? undefined : b[key];
    const left = other === undefined ? mine : nodeWithout(mine, other);
    if (left !== mine) result ??= fieldsBefore(key, a);
    if (result && left !== undefined) result[key] = left;
  }
  return result ?? a;
};

/**
 * Returns a new set with the fields that come before one. A set whose fields are deleted would be slow from then on.
 */
const fieldsBefore = (end: string, set: FieldSet): MutableFieldSet => {
  const result: MutableFieldSet = {};
  for (const key in set) {
    if (key === end) break;
    result[key] = set[key]!;
  }
  return result;
};

const nodeWithout = (mine: FieldSet, other: FieldSet): FieldSet | undefined => {
  const kept = isMember(mine) && !isMember(other);
  const rest = difference(mine, other);
  if (rest === mine && kept === isMember(mine)) return mine;
  return nodeOf(kept, belowOf(rest));
};

/** Reports whether both sets have the same fields. */
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

/** Reports whether every field of `a` is in `b`. */
export const isWithin = (a: FieldSet, b: FieldSet): boolean => {
  for (const key in a) {
    if (key === '.') continue;
    const other = b[key];
    if (other === undefined || (isMember(a[key]!) && !isMember(other)) || !isWithin(a[key]!, other)) return false;
  }
  return true;
};

/** Reports whether some field is in both sets. Walks `a`, which should be the smaller one. */
export const overlaps = (a: FieldSet, b: FieldSet): boolean => {
  for (const key in a) {
    const other = b[key];
    if (key === '.' || other === undefined) continue;
    if ((isMember(a[key]!) && isMember(other)) || overlaps(a[key]!, other)) return true;
  }
  return false;
};

/** Returns the set of the given paths. */
export const setOf = (paths: Iterable<readonly string[]>): FieldSet => {
  let set = noFields;
  for (const path of paths)
    set = union(
      set,
      path.reduceRight<FieldSet>((node, element) => ({[element]: node}), leaf),
    );
  return set;
};
