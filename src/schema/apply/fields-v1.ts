import {isNestedDeeper, isPlainObject} from '#src/schema/decode/plain.js';
import {leaf, nodeOf, union, type FieldSet, type MutableFieldSet} from './field-set.js';
import {canonicalElement, compareElements} from './path-element.js';

/** More levels than any schema has; what is nested deeper is refused. */
const deepest = 200;

/** Reads a set that came from outside. Throws for what is none; elements of a kind that is not known are passed over. */
export const decodeFields = (fields: unknown): FieldSet => {
  if (fields === undefined || fields === null) return leaf;
  if (isNestedDeeper(fields, deepest)) throw new Error('fields are nested too deeply');
  return decodeNode(fields).below ?? leaf;
};

const decodeNode = (fields: unknown): {member: boolean; below: FieldSet | undefined} => {
  if (!isPlainObject(fields)) throw new Error('fields must be an object');
  let below: MutableFieldSet | undefined;
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
    below ??= {};
    below[element] = below[element] ? union({x: below[element]}, {x: node})['x']! : node;
  }
  return {member: member || !below, below};
};

/** The set with its elements in the order of the wire; the set itself where they already are. */
export const inWireOrder = (set: FieldSet): FieldSet => {
  if (set === leaf) return set;
  let last = '';
  let inOrder = true;
  let changed: MutableFieldSet | undefined;
  for (const key in set) {
    if (last !== '' && compareElements(last, key) > 0) inOrder = false;
    last = key;
    const node = set[key]!;
    const ordered = inWireOrder(node);
    if (ordered !== node) (changed ??= {...set})[key] = ordered;
  }
  const nodes = changed ?? set;
  return inOrder ? nodes : Object.fromEntries(Object.keys(nodes).sort(compareElements).map(key => [key, nodes[key]!]));
};
