import {someSchema, type JsonSchema} from '#src/schema/json-schema.js';
import type {Definition} from './types.js';
import {schemasOf} from './versions.js';

/** The validated string formats, without dashes. */
const known = new Set([
  'bsonobjectid',
  'uri',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'cidr',
  'mac',
  'uuid',
  'uuid3',
  'uuid4',
  'uuid5',
  'isbn',
  'isbn10',
  'isbn13',
  'creditcard',
  'ssn',
  'hexcolor',
  'rgbcolor',
  'byte',
  'password',
  'date',
  'duration',
  'datetime',
  'k8sshortname',
  'k8slongname',
]);

const unknownFormats = ({spec}: Readonly<Definition>): string[] => {
  const found: string[] = [];
  const collect = ({type, format}: JsonSchema): boolean => {
    if (type === 'string' && format && !known.has(format.replaceAll('-', ''))) found.push(format);
    return false;
  };
  for (const schema of schemasOf(spec ?? {})) someSchema(schema, collect);
  return found;
};

/** Warns about unknown formats that the stored definition does not have. */
export const formatWarnings = (definition: Readonly<Definition>, old: Readonly<Definition> | undefined): string[] => {
  const before = new Set(old ? unknownFormats(old) : []);
  return [...new Set(unknownFormats(definition))]
    .filter(format => !before.has(format))
    .map(format => `unrecognized format ${JSON.stringify(format)}`);
};
