import type {NodeFormat, NodeType, TypeRef} from '#src/schema/node.js';

/** A parsed type of the tables. */
export type ParsedType =
  | {readonly kind: 'scalar'; readonly type: NodeType; readonly format?: NodeFormat}
  | {readonly kind: 'array' | 'map'; readonly items: ParsedType}
  | {readonly kind: 'named'; readonly ref: TypeRef}
  /** A value without structure whose type has a name of its own in OpenAPI documents. */
  | {readonly kind: 'opaque'; readonly ref: TypeRef};

const scalars: ReadonlyMap<string, {readonly type: NodeType; readonly format?: NodeFormat}> = new Map([
  ['string', {type: 'string'}],
  ['bool', {type: 'boolean'}],
  ['int32', {type: 'integer', format: 'int32'}],
  ['int64', {type: 'integer', format: 'int64'}],
  ['float64', {type: 'number', format: 'double'}],
  ['byte', {type: 'string', format: 'byte'}],
  ['time', {type: 'string', format: 'date-time'}],
  ['microtime', {type: 'string', format: 'date-time-micro'}],
  ['intorstring', {type: 'any', format: 'int-or-string'}],
  ['quantity', {type: 'any', format: 'quantity'}],
  ['raw', {type: 'any', format: 'raw'}],
  ['fields', {type: 'any', format: 'fields'}],
  ['any', {type: 'any'}],
]);

/** Parses `[]string`, `map[string]quantity`, `core/v1.Pod` and the like. */
export const parseType = (text: string): ParsedType => {
  if (text.startsWith('[]')) return {kind: 'array', items: parseType(text.slice(2))};
  if (text.startsWith('map[string]')) return {kind: 'map', items: parseType(text.slice('map[string]'.length))};
  const scalar = scalars.get(text);
  if (scalar) return {kind: 'scalar', ...scalar};
  const [, opaque, group = '', version = '', name = ''] = /^(any@)?([a-z0-9.]+)\/(v[a-z0-9]+)\.(\w+)$/.exec(text) ?? [];
  if (name === '') throw new Error(`"${text}" is no type`);
  return {kind: opaque ? 'opaque' : 'named', ref: {group: group === 'core' ? '' : group, version, name}};
};

/** Reports whether a type in table notation is a map or a struct. */
export const isMapType = (text: string | undefined): boolean =>
  text !== undefined && !text.startsWith('[]') && (text.startsWith('map[') || text.includes('/'));
