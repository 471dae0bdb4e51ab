import type {KubeObject} from '#src/api/types.js';
import {copyJson} from '#src/base/json/json-copy.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';

/** Adds the fields that a kind shows even when they are empty (`alwaysPresent`). */
export const fillAlwaysPresent = (object: KubeObject, always: AlwaysPresent): void => fill(object as PlainObject, always);

type AlwaysPresent = Readonly<Record<string, unknown>>;

const fill = (fields: PlainObject, always: AlwaysPresent): void => {
  for (const field in always) {
    const empty = always[field];
    const value = fields[field];
    // A list that is shown as null when it is absent is shown as null when it is empty, too.
    if (value === undefined || value === null || (empty === null && Array.isArray(value) && value.length === 0))
      fields[field] = copyJson(empty);
    else if (isPlainObject(value) && isPlainObject(empty)) fill(value, empty);
  }
};
