import {jsonText} from '#src/base/json/json.js';
import {canonicalJson} from '#src/base/json/canonical-json.js';
import {isPlainObject, ownField, type PlainObject} from '#src/schema/decode/plain.js';
import type {FieldOrder, PlacedField} from '#src/schema/protobuf/field-order.js';
import {htmlEscaped, literalText, settleLiterals} from './literals.js';
import type {TouchedFields} from './touched-fields.js';

type Place = Omit<PlacedField, 'name'>;

/** A place whose keys are data. */
const free: Place = {shape: 'map', fields: undefined};

const joined = (members: readonly (readonly [key: string, text: string])[]): string =>
  `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;

const sorted = (object: PlainObject): [key: string, value: unknown][] => Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));

/** Formats a part that the patch did not touch: fields in the order of their type, map keys sorted. */
const untouched = (value: unknown, {shape, fields}: Place): string => {
  if (shape === 'data') return jsonText(value);
  if (Array.isArray(value)) return `[${value.map(item => untouched(item, {shape: 'one', fields})).join(',')}]`;
  if (!isPlainObject(value)) return literalText(value);
  if (!fields) return canonicalJson(settleLiterals(value).value);
  if (shape === 'map') return joined(sorted(value).map(([key, item]) => [key, untouched(item, {shape: 'one', fields})]));
  return joined(
    [...fields()].filter(({name}) => ownField(value, name) !== undefined).map(place => [place.name, untouched(value[place.name], place)]),
  );
};

const patched = (value: unknown, touched: TouchedFields | undefined, place: Place): string => {
  if (touched?.given && touched.fields.size === 0) return literalText(value);
  if (!touched) return untouched(value, place);
  const {shape, fields} = place;
  if (Array.isArray(value))
    return `[${value.map((item, index) => patched(item, touched.fields.get(String(index)), {shape: 'one', fields})).join(',')}]`;
  if (!isPlainObject(value)) return literalText(value);
  const places = new Map(shape === 'one' ? [...(fields?.() ?? [])].map(field => [field.name, field]) : []);
  return joined(
    sorted(value).map(([key, item]) => [
      key,
      patched(item, touched.fields.get(key), places.get(key) ?? (shape === 'map' && fields ? {shape: 'one', fields} : free)),
    ]),
  );
};

/**
 * Formats a patched object as the original does: touched objects with sorted keys, the rest unchanged. `fields` is the field order of the kind; without it
 * everything is sorted.
 */
export const patchedText = (value: unknown, touched: TouchedFields, fields: FieldOrder | undefined): string =>
  htmlEscaped(patched(value, touched, {shape: 'one', fields}));
