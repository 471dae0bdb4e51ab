import {isNestedDeeper, isPlainObject} from '#src/schema/decode/plain.js';
import {leaf, nodeOf, unionOf, type FieldSet, type MutableFieldSet} from './field-set.js';
import {canonicalElement, inElementOrder} from './path-element.js';

/** More levels than any schema has; what is nested deeper is refused. */
const maxDepth = 200;

/** Reads a set that came from outside. Throws for what is none; elements of a kind that is not known are passed over. */
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
    // One element may be spelled in many ways.
    let set = sets.at(-1);
    if (!set || element in set) sets.push((set = {}));
    set[element] = node;
  }
  return {member: member || sets.length === 0, below: sets.length === 0 ? undefined : unionOf(sets)};
};

/** The set with its elements in the order of the wire; the set itself where they already are. */
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
  return sorted === keys ? nodes : Object.fromEntries(sorted.map(key => [key, nodes[key]!]));
};
