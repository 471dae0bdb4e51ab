// Objects with every field of their kind filled with values drawn from a seed, for hashes of what the encoders make of
// them.

import type {Random} from '#src/base/random.js';
import type {SchemaNode} from '#src/schema/node.js';

/** The times that a type occurs in itself (the properties of a JSON schema have properties). */
const maxRepeats = 2;

const digits = (random: Random, below: number): number => Math.floor(random.float() * below);
const two = (value: number): string => String(value).padStart(2, '0');

const aTime = (random: Random): string =>
  `20${two(10 + digits(random, 80))}-${two(1 + digits(random, 12))}-${two(1 + digits(random, 28))}T${two(digits(random, 24))}:${two(digits(random, 60))}:${two(digits(random, 60))}`;

const aText = (random: Random): string => `text-${digits(random, 36 ** 6).toString(36)}`;

/** The fields that are durations in protobuf. Their schema is that of any text. */
const durations: ReadonlySet<string> = new Set(['window']);

const aDuration = (random: Random): string => `${1 + digits(random, 23)}h${1 + digits(random, 59)}m0s`;

const ofString = ({format, enum: values}: SchemaNode, random: Random): unknown => {
  if (values) return values[digits(random, values.length)];
  if (format === 'byte') return Buffer.from(random.bytes(1 + digits(random, 9))).toString('base64');
  if (format === 'date-time') return `${aTime(random)}Z`;
  if (format === 'date-time-micro') return `${aTime(random)}.${String(digits(random, 1e6)).padStart(6, '0')}Z`;
  return aText(random);
};

const ofAny = ({format, variants}: SchemaNode, random: Random): unknown => {
  if (variants) return {description: aText(random)}; // A schema, which also may be true or a list.
  switch (format) {
    case 'quantity':
      return `${1 + digits(random, 999)}${['', 'm', 'Ki', 'Mi', 'Gi'][digits(random, 5)]}`;
    case 'int-or-string':
      return random.float() < 0.5 ? 1 + digits(random, 65_535) : aText(random);
    case 'raw':
      return {apiVersion: 'example.com/v1', kind: 'Example', value: aText(random)};
    case undefined:
      return {};
    default:
      return {[aText(random)]: {}};
  }
};

/** Returns a value of the type with every field filled. */
export const filled = (node: SchemaNode, random: Random, within: readonly string[] = []): unknown => {
  switch (node.type) {
    case 'object': {
      if (!node.properties) return node.format ? ofAny(node, random) : {};
      const id = node.ref ? `${node.ref.group}/${node.ref.version}.${node.ref.name}` : '';
      if (id && within.filter(outer => outer === id).length >= maxRepeats) return undefined;
      const inside = id ? [...within, id] : within;
      // The protobuf messages of objects within others have no type of their own.
      const isTyped = within.length === 0 || !(node.properties.has('metadata') || node.ref?.name === 'DeleteOptions');
      const fields = [...node.properties]
        .filter(([name]) => isTyped || (name !== 'apiVersion' && name !== 'kind'))
        .map(([name, field]) => [name, durations.has(name) ? aDuration(random) : filled(field, random, inside)] as const);
      return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
    }
    case 'array': {
      // Objects come alone: they hold lists of others.
      const count = node.items!.type === 'object' ? 1 : 2;
      const items = Array.from({length: count}, () => filled(node.items!, random, within)).filter(item => item !== undefined);
      return items.length > 0 ? items : undefined;
    }
    case 'map': {
      const value = filled(node.items ?? {type: 'string'}, random, within);
      return value === undefined ? undefined : {[aText(random)]: value};
    }
    case 'integer':
      return 1 + digits(random, node.format === 'int64' ? 2 ** 45 : 2 ** 31 - 2);
    case 'number':
      return (1 + digits(random, 2 ** 20)) / 8;
    case 'boolean':
      return true;
    case 'string':
      return ofString(node, random);
    case 'any':
      return ofAny(node, random);
  }
};
