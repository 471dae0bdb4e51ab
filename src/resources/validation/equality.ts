import {sameContent} from '#src/api/equal.js';
import {invalid, type FieldError} from '#src/api/field-error.js';

export {sameContent};

/** Two specs' fields that differ, a line for each side. */
export const differences = (now: object, before: object): string => {
  const [left, right] = [before, now] as Record<string, unknown>[];
  const fields = [...new Set([...Object.keys(left!), ...Object.keys(right!)])].sort().filter(field => !sameContent(left![field], right![field]));
  const line = (sign: string, field: string, value: unknown) => (value === undefined ? [] : [`${sign} ${field}: ${JSON.stringify(value)}`]);
  return fields.flatMap(field => [...line('-', field, left![field]), ...line('+', field, right![field])]).join('\n');
};

export const immutableText = 'field is immutable';

/** Refuses any change of a field. */
export function* immutable(path: string, value: unknown, old: unknown, detail = immutableText): Iterable<FieldError> {
  if (!sameContent(value, old)) yield invalid(path, value, detail);
}
