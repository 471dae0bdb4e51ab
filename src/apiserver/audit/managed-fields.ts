// Removes the managed fields from the JSON of an object, a list or a table, without parsing it.

import type {Steps} from '#src/base/steps.js';

const [quote, backslash, comma, colon, openBrace, closeBrace, openBracket, closeBracket] = Buffer.from('"\\,:{}[]');
const name = 'managedFields';
const quotedName = Buffer.from(`"${name}"`);

/** How many bytes are read in one step. */
const stepBytes = 64 << 10;

/** Where the metadata of objects is: of the object itself, of a list's items, and of the objects in a table's rows. */
const places: ReadonlySet<string> = new Set(['metadata', 'items//metadata', 'rows//object/metadata']);

/** Returns the offset after a string that begins at `start`. */
const stringEnd = (json: Buffer, start: number): number => {
  for (let at = json.indexOf(quote!, start + 1); at >= 0; at = json.indexOf(quote!, at + 1)) {
    let escapes = 0;
    while (json[at - 1 - escapes] === backslash) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
  return json.length;
};

/** Returns the offset after the value of a member whose name ends at `start`. */
const valueEnd = (json: Buffer, start: number): number => {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = stringEnd(json, at) - 1;
    else if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (byte === comma && depth === 0) return at;
  }
  return json.length;
};

/** Returns the JSON of an object, list or table without managed fields; the same buffer if it has none. */
export const withoutManagedFields = function* (json: Buffer): Steps<Buffer> {
  if (!json.includes(quotedName)) return json;
  const kept: Buffer[] = [];
  let from = 0;
  // The current member of each enclosing object; empty for lists.
  const path: string[] = [];
  const inList: boolean[] = [];
  let isName = false;
  let pauseAt = stepBytes;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) {
      const end = stringEnd(json, at);
      if (isName) {
        isName = false;
        const member = json.toString('latin1', at + 1, end - 1);
        if (member === name && places.has(path.slice(0, -1).join('/'))) {
          const after = valueEnd(json, json.indexOf(colon!, end) + 1);
          const isFollowed = json[after] === comma;
          const before = !isFollowed && json[at - 1] === comma ? at - 1 : at;
          kept.push(json.subarray(from, before));
          from = isFollowed ? after + 1 : after;
          isName = isFollowed;
          at = from - 1;
          continue;
        }
        path[path.length - 1] = member;
      }
      at = end - 1;
    } else if (byte === openBrace || byte === openBracket) {
      path.push('');
      inList.push(byte === openBracket);
      isName = byte === openBrace;
    } else if (byte === closeBrace || byte === closeBracket) {
      path.pop();
      inList.pop();
      isName = false;
    } else if (byte === comma) isName = inList.at(-1) === false;
    if (at < pauseAt) continue;
    pauseAt = at + stepBytes;
    yield;
  }
  kept.push(json.subarray(from));
  return Buffer.concat(kept);
};
