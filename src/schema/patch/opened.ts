import {isPlainObject} from '#src/schema/decode/plain.js';
import type {JsonPatchOperation} from './json-patch.js';
import {unescaped} from './pointer.js';

/**
 * What a patch reads of the text of a document: objects it looks into are written anew, with their keys sorted; what it passes over stays as it was. A value it
 * sets is `given`, and stays as it was sent.
 */
export interface Opened {
  readonly fields: ReadonlyMap<string, Opened>;
  readonly given?: boolean;
}

interface Opening extends Opened {
  readonly fields: Map<string, Opening>;
  given?: boolean;
}

const opening = (): Opening => ({fields: new Map()});

const walk = (root: Opening, path: string, last: number): Opening => {
  let at = root;
  for (const part of path.split('/').slice(1, last).map(unescaped)) {
    let next = at.fields.get(part);
    if (!next) at.fields.set(part, (next = opening()));
    at = next;
  }
  return at;
};

/** What the steps of a JSON patch open: all that lies above the places they name. */
export const openedBySteps = (steps: readonly JsonPatchOperation[]): Opened => {
  const root = opening();
  for (const {op, path = '', from} of steps) {
    if (from !== undefined) walk(root, from, -1);
    if (op === 'add' || op === 'replace') walk(root, path, Infinity).given = true;
    else walk(root, path, -1);
  }
  return root;
};

/** What a merge patch opens: every object it says something of, and all it sets. */
export const openedByMerge = (patch: unknown): Opened => {
  const fields = isPlainObject(patch) ? Object.entries(patch).map(([key, value]): [string, Opened] => [key, openedByMerge(value)]) : [];
  return {fields: new Map(fields)};
};
