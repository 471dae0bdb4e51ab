import type {SchemaNode} from '#src/schema/node.js';

/** A step from a value to one inside it: a field of a struct, an item of a list, or a value of a map. */
export type Step = {readonly field: string} | 'item' | 'value';

/** A list or map in the objects of a kind. */
export interface Collection {
  readonly path: readonly Step[];
  readonly node: SchemaNode;
  /** The struct that contains the collection, and the path to it. */
  readonly holder: SchemaNode;
  readonly holderPath: readonly Step[];
}

/** The path as messages show it, for example `spec.template.spec.containers[].env`. */
export const pathText = (path: readonly Step[]): string =>
  path
    .map(step => (step === 'item' ? '[]' : step === 'value' ? '{}' : `.${step.field}`))
    .join('')
    .replace(/^\./, '');

const isCollection = ({type}: SchemaNode): boolean => type === 'array' || type === 'map';

/** Returns all lists and maps of a struct, including nested ones; a recursive type is entered once. */
export function* collectionsOf(node: SchemaNode): Generator<Collection> {
  yield* within(node, [], new Set());
}

function* within(node: SchemaNode, path: readonly Step[], entered: ReadonlySet<string>): Generator<Collection> {
  if (node.type !== 'object' || !node.properties) return;
  const name = node.ref && `${node.ref.group}/${node.ref.version}.${node.ref.name}`;
  if (name && entered.has(name)) return;
  const inside = name ? new Set([...entered, name]) : entered;
  for (const [field, child] of node.properties) {
    const at = [...path, {field}];
    if (isCollection(child)) yield {path: at, node: child, holder: node, holderPath: path};
    yield* elements(child, at, inside);
  }
}

function* elements(node: SchemaNode, path: readonly Step[], entered: ReadonlySet<string>): Generator<Collection> {
  if (isCollection(node) && node.items) yield* elements(node.items, [...path, node.type === 'array' ? 'item' : 'value'], entered);
  else yield* within(node, path, entered);
}
