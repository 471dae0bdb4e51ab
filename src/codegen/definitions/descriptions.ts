import {isPlainObject} from '#src/schema/decode/plain.js';
import type {Definition} from '#src/codegen/kind-tags.js';
import type {JsonSchema} from '#src/schema/json-schema.js';

/**
 * Returns a definition whose schemas have descriptions of at most so many characters, each cut after its last whole
 * sentence, or its last word. Of 0 they have none, and a negative number keeps them.
 */
export const withDescriptions = (definition: Definition, length: number): Definition => {
  if (length < 0) return definition;
  const {spec, ...rest} = definition;
  const versions = spec.versions.map(version => {
    const {openAPIV3Schema: schema} = version.schema ?? {};
    return schema ? {...version, schema: {openAPIV3Schema: shortened(schema as JsonSchema, length) as typeof schema}} : version;
  });
  return {...rest, spec: {...spec, versions}};
};

/** The keywords whose values are schemas by name. */
const named: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'definitions']);
/** The keywords whose values are schemas, or lists of them. */
const nested: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'allOf', 'anyOf', 'oneOf', 'not']);

const shortened = (schema: JsonSchema, length: number): JsonSchema =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]: [string, unknown]): [string, unknown][] => {
      if (keyword === 'description') return length === 0 ? [] : [[keyword, cut(String(value), length)]];
      if (named.has(keyword) && isPlainObject(value))
        return [
          [keyword, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shortened(inner as JsonSchema, length)]))],
        ];
      if (!nested.has(keyword)) return [[keyword, value]];
      if (Array.isArray(value)) return [[keyword, value.map(each => shortened(each as JsonSchema, length))]];
      return [[keyword, isPlainObject(value) ? shortened(value, length) : value]];
    }),
  );

const cut = (text: string, length: number): string => {
  if (text.length <= length) return text;
  const start = text.slice(0, length);
  const sentence = Math.max(start.lastIndexOf('. '), start.endsWith('.') ? length - 1 : -1);
  if (sentence > 0) return start.slice(0, sentence + 1);
  const word = start.lastIndexOf(' ');
  return start.slice(0, word > 0 ? word : length).trimEnd();
};
