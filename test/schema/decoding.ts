import {decode} from '#src/schema/decode/decode.js';
import {DecodeError} from '#src/schema/decode/error.js';
import type {SchemaNode} from '#src/schema/node.js';
import {Schemas} from '#src/schema/builtin/schemas.js';

const schemas = new Schemas();
export const node = (group: string, name: string): SchemaNode => {
  const found = schemas.of(group, 'v1', name);
  if (!found) throw new Error(`no type ${name}`);
  return found;
};

export const configMap = node('', 'ConfigMap');
export const pod = node('', 'Pod');
export const secret = node('', 'Secret');
/** The object without the notes of what was given empty. */
export const decoded = (type: SchemaNode, value: unknown) => structuredClone(decode(JSON.stringify(value), 'json', type, 'Strict').object);

export const problems = (type: SchemaNode, text: string, notation: 'json' | 'yaml' = 'json') =>
  decode(text, notation, type, 'Strict').problems.map(({text}) => text);

export const refusal = (type: SchemaNode, text: string, notation: 'json' | 'yaml' = 'json'): string => {
  try {
    decode(text, notation, type, 'Ignore');
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
  return 'accepted';
};
