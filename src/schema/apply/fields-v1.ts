import {isNestedDeeper, isPlainObject} from '#src/schema/decode/plain.js';
import {leaf, nodeOf, unionOf, type FieldSet, type MutableFieldSet} from './field-set.js';
import {canonicalElement, inElementOrder} from './path-element.js';

// The wire format of field sets: decoding received sets, and the order in which they are written.

/** Deeper sets are rejected; no schema has as many levels. */
const maxDepth = 200;

/** Decodes a set received from outside. Throws for a malformed one; elements of an unknown type are skipped. */
export const decodeFields = (fields: unknown): FieldSet => {
  if (fields === undefined || fields === null) return leaf;
  if (isNestedDeeper(fields, maxDepth)) throw new Error('fields are nested too deeply');
  return decodeNode(fields).below ?? leaf;
};

const decodeNode = (fields: unknown): {member: boolean; below: FieldSet | undefined} => {
  if (!isPlainObject(fields)) throw new Error('fields must be an object');
  const sets: MutableFieldSet[] = [];
  let member = false;
  for (const key of Object.keys(fields)) {
    if (key === '.') {
      member = true;
      continue;
    }
    const element = canonicalElement(key);
    if (element === undefined) continue;
    const decoded = decodeNode(fields[key]);
    const node = nodeOf(decoded.member, decoded.below)!;
    // The same element can be written in different ways.
    let set = sets.at(-1);
    if (!set || element in set) sets.push((set = {}));
    set[element] = node;
  }
  return {member: member || sets.length === 0, below: sets.length === 0 ? undefined : unionOf(sets)};
};

/** Returns the set with its elements in wire order; the set itself if they already are. */
export const inWireOrder = (set: FieldSet): FieldSet => {
  if (set === leaf) return set;
  let changed: MutableFieldSet | undefined;
  for (const key in set) {
    const node = set[key]!;
    const ordered = inWireOrder(node);
    if (ordered !== node) (changed ??= {...set})[key] = ordered;
  }
  const nodes = changed ?? set;
  const keys = Object.keys(nodes);
  const sorted = inElementOrder(keys);
  if (sorted === keys) return nodes;
  const result: MutableFieldSet = {};
  for (const key of sorted) result[key] = nodes[key]!;
  return result;
};
