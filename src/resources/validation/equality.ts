import {invalid, type FieldError} from '#src/api/field-error.js';

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) ? value.length === 0 : typeof value === 'object' && Object.keys(value).length === 0);

/** Whether two values mean the same: nothing, null, the empty list and the empty map are one. */
export const sameContent = (a: unknown, b: unknown): boolean => {
  if (a === b) return true;
  if (typeof a !== 'object' && typeof b !== 'object') return false;
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) && isEmpty(b);
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => sameContent(item, b[i]));
  }
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].every(key => sameContent(left[key], right[key]));
};

/** Refuses any change of a field. */
export function* immutable(path: string, value: unknown, old: unknown, detail = 'field is immutable'): Iterable<FieldError> {
  if (!sameContent(value, old)) yield invalid(path, value, detail);
}
