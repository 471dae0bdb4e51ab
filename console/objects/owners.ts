// Who has written which field, from the managed fields of an object.

export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsV1?: Fields;
}

interface Fields {
  readonly [key: string]: Fields;
}

export interface FieldOwner {
  readonly manager: string;
  readonly operation: string;
  readonly subresource: string;
  /** In milliseconds since the epoch; 0 if it is not known, as for an entry of a scale. */
  readonly time: number;
}

/** Finds the place of an element in a list by the key that names it: `k:` its fields, `v:` itself, `i:` its place. */
const placeOf = (list: readonly unknown[], key: string): number => {
  const [form, text] = [key.slice(0, 2), key.slice(2)];
  if (form === 'i:') return Number(text);
  try {
    const wanted = JSON.parse(text) as unknown;
    if (form === 'v:') return list.findIndex(each => JSON.stringify(each) === JSON.stringify(wanted));
    const fields = Object.entries(wanted as object);
    return list.findIndex(each => fields.every(([name, value]) => (each as Record<string, unknown>)[name] === value));
  } catch {
    return -1;
  }
};

const visit = (fields: Fields, value: unknown, path: (string | number)[], found: (path: string) => void): void => {
  const keys = Object.keys(fields);
  if (keys.length === 0 || '.' in fields) found(JSON.stringify(path));
  for (const key of keys) {
    if (key === '.' || typeof value !== 'object' || value === null) continue;
    const at = key.startsWith('f:') ? key.slice(2) : Array.isArray(value) ? placeOf(value, key) : -1;
    if (at === -1) continue;
    visit(fields[key]!, (value as Record<string | number, unknown>)[at], [...path, at], found);
  }
};

/** Returns the owners of each field that has some, the latest first. */
export const ownersOf = (object: unknown, managed: readonly ManagedFields[]): ReadonlyMap<string, readonly FieldOwner[]> => {
  const owners = new Map<string, FieldOwner[]>();
  for (const {manager = '', operation = '', subresource = '', time = '', fieldsV1 = {}} of managed) {
    const owner = {manager, operation, subresource, time: Date.parse(time) || 0};
    visit(fieldsV1, object, [], path => {
      const known = owners.get(path);
      if (known) known.push(owner);
      else owners.set(path, [owner]);
    });
  }
  for (const list of owners.values()) list.sort((one, other) => other.time - one.time);
  return owners;
};

/** Returns the owners of a field, or of the one around it that is owned as a whole. */
export const ownersAt = (owners: ReadonlyMap<string, readonly FieldOwner[]>, path: string): readonly FieldOwner[] => {
  const parts = JSON.parse(path) as (string | number)[];
  for (; parts.length > 1; parts.pop()) {
    const found = owners.get(JSON.stringify(parts));
    if (found) return found;
  }
  return [];
};
