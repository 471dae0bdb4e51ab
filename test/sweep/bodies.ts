import type {SchemaNode} from '#src/schema/node.js';
import type {Collection, Step} from './fields.js';

/**
 * How a collection is filled: different elements, equal elements, empty elements, all collections of its struct, or
 * elements whose own collections are filled too.
 */
export const fillings = ['different', 'equal', 'empty', 'together', 'nested'] as const;
export type Filling = (typeof fillings)[number];

const isCollection = ({type}: SchemaNode): boolean => type === 'array' || type === 'map';
const identifying = ['name', 'key', 'type', 'uid', 'ip', 'port', 'containerPort', 'topologyKey', 'path', 'expression'];

/** Returns a minimal value of a type. Values of different numbers are different if possible. */
export const minimalValue = (node: SchemaNode, index: number, keys: readonly string[] = []): unknown => {
  switch (node.type) {
    case 'object': {
      const fields = new Set([...(node.required ?? []), ...keys, ...identifying]);
      return Object.fromEntries(
        [...(node.properties ?? [])].filter(([name]) => fields.has(name)).map(([name, child]) => [name, minimalValue(child, index)]),
      );
    }
    case 'map':
      return {};
    case 'array':
      return [];
    case 'integer':
    case 'number':
      return (index % 65_535) + 1;
    case 'boolean':
      return true;
    case 'any':
      return node.format === 'quantity' ? String(index + 1) : node.format === 'int-or-string' ? (index % 65_535) + 1 : {a: index};
    case 'string':
      if (node.enum) return node.enum[index % node.enum.length];
      if (node.format === 'byte') return Buffer.from(String(index)).toString('base64');
      return node.format?.startsWith('date-time') ? '2026-01-01T00:00:00Z' : `v-${index}`;
  }
};

const emptyValue = (node: SchemaNode | undefined): unknown =>
  node === undefined || node.type === 'string'
    ? ''
    : node.type === 'object' || node.type === 'map'
      ? {}
      : node.type === 'array'
        ? []
        : minimalValue(node, 0);

const fallback: SchemaNode = {type: 'string'};

const collected = (node: SchemaNode, element: (index: number) => unknown, bytes: number): unknown => {
  const each = Buffer.byteLength(JSON.stringify(element(100_000)) ?? '') + (node.type === 'map' ? 12 : 1);
  const count = Math.max(1, Math.floor(bytes / each));
  if (node.type === 'array') return Array.from({length: count}, (_, index) => element(index));
  return Object.fromEntries(Array.from({length: count}, (_, index) => [`k-${index}`, element(index)]));
};

const differing = (node: SchemaNode, bytes: number): unknown =>
  collected(
    node,
    index => minimalValue(node.items ?? fallback, index, node.listMapKeys ?? (node.patchMergeKey ? [node.patchMergeKey] : [])),
    bytes,
  );

/** Returns as many elements as each has elements of its own. */
const nested = (node: SchemaNode, bytes: number): unknown => {
  const {items} = node;
  const inner = [...(items?.properties ?? [])].filter(([, child]) => isCollection(child));
  if (!items || inner.length === 0) return undefined;
  const share = Math.sqrt(bytes * 40);
  return collected(
    node,
    index => ({
      ...(minimalValue(items, index, node.listMapKeys) as object),
      ...Object.fromEntries(inner.map(([name, child]) => [name, differing(child, share / inner.length)])),
    }),
    bytes,
  );
};

const filled = (node: SchemaNode, filling: Filling, bytes: number): unknown => {
  if (filling === 'equal') return collected(node, () => minimalValue(node.items ?? fallback, 0), bytes);
  if (filling === 'empty') return collected(node, () => emptyValue(node.items), bytes);
  return filling === 'nested' ? nested(node, bytes) : differing(node, bytes);
};

/** Returns the value at a path, creating missing values. `node` is the root's type. */
const valueAt = (root: Record<string, unknown>, node: SchemaNode, path: readonly Step[]): Record<string, unknown> => {
  let at: unknown = root;
  let type = node;
  for (const step of path) {
    const key = step === 'item' ? 0 : step === 'value' ? 'k' : step.field;
    const holder = at as Record<string | number, unknown>;
    type = typeof step === 'object' ? type.properties!.get(step.field)! : type.items!;
    const known = holder[key];
    if (typeof known !== 'object' || known === null || (type.type !== 'array' && Array.isArray(known)))
      holder[key] = type.type === 'array' ? [] : minimalValue(type, 0);
    at = holder[key];
  }
  return at as Record<string, unknown>;
};

/**
 * Returns a copy of the object with a collection filled until the object has about `bytes` bytes; undefined if the
 * filling does not apply.
 */
export const bodyWith = (
  object: object,
  node: SchemaNode,
  {path, node: type, holder, holderPath}: Collection,
  filling: Filling,
  bytes: number,
): Record<string, unknown> | undefined => {
  const body = structuredClone(object) as Record<string, unknown>;
  const at = valueAt(body, node, holderPath);
  const {field} = path.at(-1) as {readonly field: string};
  const siblings =
    filling === 'together' ? [...(holder.properties ?? [])].filter(([, child]) => isCollection(child)) : [[field, type] as const];
  if (filling === 'together' && (siblings.length === 1 || siblings[0]![0] !== field)) return undefined; // Once per struct.
  for (const [name, child] of siblings) at[name] = filled(child, filling, bytes / siblings.length);
  return at[field] === undefined ? undefined : body;
};
