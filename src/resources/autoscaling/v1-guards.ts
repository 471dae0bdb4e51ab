import {parseQuantity} from '#src/api/quantity.js';

/** What a value read from JSON must look like. */
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

export const listOf = (item: Guard): Guard => value => Array.isArray(value) && value.every(item);

const mapOf = (item: Guard): Guard => value => isFields(value) && Object.values(value).every(item);

/** Fields that look so when they are there; what is not named may be anything. */
export const fields = (guards: Readonly<Record<string, Guard>>): Guard => value =>
  isFields(value) && Object.entries(guards).every(([name, guard]) => value[name] === undefined || value[name] === null || guard(value[name]));

export const selector = fields({matchLabels: mapOf(string), matchExpressions: listOf(fields({key: string, operator: string, values: listOf(string)}))});
export const reference = fields({kind: string, name: string, apiVersion: string});

const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  return isFields(value) ? Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null).map(([key, item]) => [key, withoutNulls(item)])) : value;
};

/** What JSON of a shape says, where null is as good as nothing. Nothing when it has another shape, or there is none. */
export const parseGuarded = <T>(text: string | undefined, guard: Guard): T | undefined => {
  if (text === undefined) return undefined;
  try {
    const value = withoutNulls(JSON.parse(text));
    return guard(value) ? (value as T) : undefined;
  } catch {
    return undefined;
  }
};
