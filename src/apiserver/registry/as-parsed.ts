import {hasEmptied} from '#src/schema/emptied.js';
import {setProperty} from '#src/base/json/set-property.js';
import {type PlainObject} from '#src/schema/decode/plain.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns a decoded value as it is after writing and parsing its JSON: without fields that are undefined, and without
 * what was noted of its body. Parts that are so already are shared, not copied.
 */
export const asParsed = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null) return value;
  return (Array.isArray(value) ? listAsParsed(value) : objectAsParsed(value as Fields)) as T;
};

const listAsParsed = (list: readonly unknown[]): readonly unknown[] => {
  let copy: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const item = list[index];
    const parsed = item === undefined ? null : asParsed(item);
    if (parsed !== item) (copy ??= [...list])[index] = parsed;
  }
  return copy ?? list;
};

const objectAsParsed = (fields: Fields): Fields => {
  let copy: PlainObject | undefined = hasEmptied(fields) ? {} : undefined;
  // Decoded objects inherit no fields; their keys need no list.
  for (const key in fields) {
    const parsed = asParsed(fields[key]);
    if (!copy && (parsed === undefined || parsed !== fields[key])) copy = before(key, fields);
    if (copy && parsed !== undefined) setProperty(copy, key, parsed);
  }
  return copy ?? fields;
};

/** Returns the fields that precede one. */
const before = (end: string, fields: Fields): PlainObject => {
  const copy: PlainObject = {};
  for (const key of Object.keys(fields)) {
    if (key === end) break;
    setProperty(copy, key, fields[key]);
  }
  return copy;
};
