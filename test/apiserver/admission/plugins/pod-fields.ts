import type {KubeObject} from '#src/api/types.js';
import type {SchemaNode} from '#src/schema/node.js';

/** A field of a pod's spec by its steps; a number is an item of a list. */
export type FieldPath = readonly (string | 0)[];

/** A scalar field, with the names of the types that contain it, the innermost last. */
export interface PodField {
  readonly path: FieldPath;
  readonly types: readonly string[];
}

/** Items of lists, and references, that would be refused without these fields before validating admission sees them. */
const identities: Readonly<Record<string, object>> = {
  containers: {name: 'c', image: 'good'},
  initContainers: {name: 'i', image: 'good'},
  ephemeralContainers: {name: 'e', image: 'good'},
  volumes: {name: 'v'},
  env: {name: 'E'},
  secretKeyRef: {key: 'k'},
};

/** Yields every scalar field below a node. Types that contain themselves are entered once. */
export function* fieldsOf(node: SchemaNode, path: FieldPath = [], types: readonly string[] = []): Iterable<PodField> {
  const name = node.ref?.name;
  if (name !== undefined && types.includes(name)) return;
  const inside = name === undefined ? types : [...types, name];
  if (node.type === 'array' && node.items) yield* fieldsOf(node.items, [...path, 0], inside);
  else if (node.type === 'object') for (const [key, field] of node.properties ?? []) yield* fieldsOf(field, [...path, key], inside);
  else if (node.type === 'string') yield {path, types: inside};
}

/** A pod's spec in which only the field of this path has the value, beside what identifies list items. */
export const specWith = (path: FieldPath, value: string): Record<string, unknown> => {
  const build = ([step, ...rest]: FieldPath, list: string | undefined): unknown => {
    if (step === undefined) return value;
    if (step === 0) {
      const item = build(rest, undefined);
      return [typeof item === 'object' ? {...identities[list ?? ''], ...item} : item];
    }
    const inner = build(rest, step);
    return {[step]: typeof inner === 'object' && !Array.isArray(inner) ? {...identities[step], ...inner} : inner};
  };
  return {containers: [identities['containers']], ...(build(path, undefined) as object)};
};

export const textOf = (path: FieldPath): string => path.filter(step => step !== 0).join('.');

/** Whether a value occurs anywhere in an object but its managed fields. */
export const holds = (object: Readonly<KubeObject>, value: string): boolean =>
  JSON.stringify({...object, metadata: {...object.metadata, managedFields: []}}).includes(JSON.stringify(value));
