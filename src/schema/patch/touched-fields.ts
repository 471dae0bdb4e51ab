import {isPlainObject} from '#src/schema/decode/plain.js';
import type {JsonPatchOperation} from './json-patch.js';
import {unescaped} from './pointer.js';

/**
 * What a patch reads of the text of a document: objects it looks into are written anew, with their keys sorted; what it passes over stays as it was. A value it
 * sets is `given`, and stays as it was sent.
 */
export interface TouchedFields {
  readonly fields: ReadonlyMap<string, TouchedFields>;
  readonly given?: boolean;
}

interface MutableTouchedFields extends TouchedFields {
  readonly fields: Map<string, MutableTouchedFields>;
  given?: boolean;
}

const newTouched = (): MutableTouchedFields => ({fields: new Map()});

const walk = (root: MutableTouchedFields, path: string, last: number): MutableTouchedFields => {
  let at = root;
  for (const part of path.split('/').slice(1, last).map(unescaped)) {
    let next = at.fields.get(part);
    if (!next) at.fields.set(part, (next = newTouched()));
    at = next;
  }
  return at;
};

/** What the steps of a JSON patch open: all that lies above the places they name. */
export const touchedByJsonPatch = (steps: readonly JsonPatchOperation[]): TouchedFields => {
  const root = newTouched();
  for (const {op, path = '', from} of steps) {
    if (from !== undefined) walk(root, from, -1);
    if (op === 'add' || op === 'replace') walk(root, path, Infinity).given = true;
    else walk(root, path, -1);
  }
  return root;
};

/** What a merge patch opens: every object it says something of, and all it sets. */
export const touchedByMergePatch = (patch: unknown): TouchedFields => {
  const fields = isPlainObject(patch) ? Object.entries(patch).map(([key, value]): [string, TouchedFields] => [key, touchedByMergePatch(value)]) : [];
  return {fields: new Map(fields)};
};
