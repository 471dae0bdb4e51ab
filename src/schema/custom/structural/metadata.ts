import {forbiddenField, invalid, type FieldError} from '#src/api/field-error.js';
import {extensions, type JsonSchema} from '#src/schema/json-schema.js';

/** Reports whether a keyword constrains nothing: the type, a default, or an empty value. */
const isUnconstraining = (key: string, value: unknown): boolean =>
  key === 'type' ||
  key === 'default' ||
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);

const namesOnly = (properties: Readonly<Record<string, JsonSchema>> | undefined): boolean =>
  Object.keys(properties ?? {}).every(name => name === 'name' || name === 'generateName');

/** Validates the schema of apiVersion, kind and metadata, which may declare hardly anything. */
export function* validateStructuralMetadata(schema: JsonSchema, {isRoot}: {readonly isRoot: boolean}, path: string): Iterable<FieldError> {
  const isResource = isRoot || schema[extensions.embeddedResource] === true;
  const property = (name: string): JsonSchema | undefined =>
    schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
  for (const name of ['kind', 'apiVersion']) {
    const one = property(name);
    if (isResource && one && one.type !== 'string') yield invalid(`${path}.properties[${name}].type`, one.type ?? '', 'must be string');
  }
  const metadata = property('metadata');
  if (!metadata) return;
  const at = `${path}.properties[metadata]`;
  if (isResource && metadata.type !== 'object') yield invalid(`${at}.type`, metadata.type ?? '', 'must be object');
  const saysNothing = Object.entries(metadata).every(([key, value]) =>
    key === 'properties' ? namesOnly(metadata.properties) : isUnconstraining(key, value),
  );
  if (isRoot && !saysNothing)
    yield forbiddenField(at, 'must not specify anything other than name and generateName, but metadata is implicitly specified');
}
