import {isPlainObject} from '#src/schema/decode/plain.js';
import type {JsonPatchOperation} from './json-patch.js';
import {unescaped} from './json-pointer.js';

// Which parts of a document a patch touches. The original re-encodes those parts only, which error texts of invalid
// results show.

/**
 * The parts of a document that a patch touches: touched objects are rewritten with sorted keys, untouched parts keep
 * their text. A value that the patch sets is `given` and keeps the text it was sent with.
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

/** Returns what a JSON patch touches: all parents of the paths it names. */
export const touchedByJsonPatch = (steps: readonly JsonPatchOperation[]): TouchedFields => {
  const root = newTouched();
  for (const {op, path, from} of steps) {
    if (typeof path !== 'string') continue;
    if (typeof from === 'string') walk(root, from, -1);
    if (op === 'add' || op === 'replace') walk(root, path, Infinity).given = true;
    else walk(root, path, -1);
  }
  return root;
};

/**
 * Returns what a merge patch touches: every object and list that it mentions, also within lists, whose nulls it
 * removes. The values without parts that it sets have one text only, and are left out: there may be a million of them.
 */
export const touchedByMergePatch = (patch: unknown): TouchedFields => {
  const fields = new Map<string, TouchedFields>();
  const parts = Array.isArray(patch) ? patch.entries() : isPlainObject(patch) ? Object.entries(patch) : [];
  for (const [key, value] of parts) if (typeof value === 'object' && value !== null) fields.set(String(key), touchedByMergePatch(value));
  return {fields};
};
