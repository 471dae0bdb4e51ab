import type {SchemaNode} from '#src/schema/node.js';

/** The fields of a part of a configuration file, by name. */
export type Fields = Readonly<Record<string, SchemaNode>>;

// The types of fields in configuration files.

export const text: SchemaNode = {type: 'string'};
export const flag: SchemaNode = {type: 'boolean'};
export const integer: SchemaNode = {type: 'integer', format: 'int32'};
export const long: SchemaNode = {type: 'integer', format: 'int64'};
export const anything: SchemaNode = {type: 'any', format: 'json'};
export const record = (fields: Fields): SchemaNode => ({type: 'object', properties: new Map(Object.entries(fields))});
export const list = (items: SchemaNode): SchemaNode => ({type: 'array', items});
export const map = (items: SchemaNode): SchemaNode => ({type: 'map', items});
