import {parseQuantity} from '#src/api/quantity.js';

// Type guards for the JSON in v1 annotations, which users may edit. A guard checks types only; ranges and required
// fields are left to validation.

/** Checks the type of a value parsed from JSON. */
export type Guard = (value: unknown) => boolean;

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export const string: Guard = value => typeof value === 'string';
export const integer: Guard = value => Number.isInteger(value);
export const quantity: Guard = value => {
  if (typeof value !== 'string' && typeof value !== 'number') return false;
  try {
    return Boolean(parseQuantity(String(value)));
  } catch {
    return false;
  }
};

export const listOf =
  (item: Guard): Guard =>
  value =>
    Array.isArray(value) && value.every(item);

const mapOf =
  (item: Guard): Guard =>
  value =>
    isFields(value) && Object.values(value).every(item);

/** Returns a guard that checks the given fields where present; other fields are not checked. */
export const fields =
  (guards: Readonly<Record<string, Guard>>): Guard =>
  value =>
    isFields(value) &&
    Object.entries(guards).every(([name, guard]) => value[name] === undefined || value[name] === null || guard(value[name]));

export const selector = fields({
  matchLabels: mapOf(string),
  matchExpressions: listOf(fields({key: string, operator: string, values: listOf(string)})),
});
export const reference = fields({kind: string, name: string, apiVersion: string});

const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  return isFields(value)
    ? Object.fromEntries(
        Object.entries(value)
          .filter(([, item]) => item !== null)
          .map(([key, item]) => [key, withoutNulls(item)]),
      )
    : value;
};

/** Parses JSON, treating null as absent; undefined if the guard rejects it, or without a text. */
export const parseGuarded = <T>(text: string | undefined, guard: Guard): T | undefined => {
  if (text === undefined) return undefined;
  try {
    const value = withoutNulls(JSON.parse(text));
    return guard(value) ? (value as T) : undefined;
  } catch {
    return undefined;
  }
};
