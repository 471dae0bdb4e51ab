import type {FieldChange} from './records.js';

/** The most fields of a change that are listed. */
const maxChanges = 50;
/** Longer values are cut. */
const maxValueLength = 512;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const hasContent = (value: unknown): boolean => value !== null && typeof value === 'object' && Object.keys(value).length > 0;

const isName = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_-]*$/.test(text);

const shortened = (value: unknown): unknown => {
  if (value === null || (typeof value !== 'object' && typeof value !== 'string')) return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= maxValueLength ? value : `${text.slice(0, maxValueLength)}…`;
};

/** Not shown: `changes` says what was written, and managed fields repeat that. */
const isLeftOut = (path: string, name: string): boolean => path === 'metadata' && name === 'managedFields';

/** Returns the fields in which two states of an object differ, and how many more there are. */
export const differencesOf = (before: unknown, after: unknown): {readonly changes: FieldChange[]; readonly omitted: number} => {
  const changes: FieldChange[] = [];
  let omitted = 0;
  const note = (path: string, values: Omit<FieldChange, 'path'>): void => {
    if (changes.length >= maxChanges) omitted++;
    else changes.push({path, ...values});
  };
  const compare = (path: string, old: unknown, now: unknown): void => {
    if (Object.is(old, now)) return;
    if (Array.isArray(old) && Array.isArray(now)) {
      for (let at = 0; at < Math.max(old.length, now.length); at++) compare(`${path}[${at}]`, old[at], now[at]);
    } else if (isObject(old) && isObject(now)) {
      for (const name of new Set([...Object.keys(old), ...Object.keys(now)]))
        if (!isLeftOut(path, name)) compare(below(path, name), old[name], now[name]);
    } else if (old === undefined && hasContent(now) && isObject(now) && path !== '') {
      for (const [name, each] of Object.entries(now)) compare(below(path, name), undefined, each);
    } else
      note(path, {
        ...(old === undefined ? {} : {before: shortened(old)}),
        ...(now === undefined ? {} : {after: shortened(now)}),
      });
  };
  compare('', before, after);
  return {changes, omitted};
};

const below = (path: string, name: string): string => {
  if (!isName(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
};
