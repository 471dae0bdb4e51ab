import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';

/** The longest text that is kept, in characters. */
const longest = 128;

const known = new Lru<string, string>(new CacheBound('audit_texts', 256 << 10), {bytesOf: json => 4 * json.length});

/**
 * Returns a text as JSON. For texts that many requests share: names of resources and verbs, agents, reasons. Short ones
 * are encoded once.
 */
export const quote = (text: string): string => {
  if (text.length > longest) return JSON.stringify(text);
  // Without a note of the use: it would cost as much as the encoding.
  const found = known.peek(text);
  if (found !== undefined) return found;
  const json = JSON.stringify(text);
  // A key cut out of the JSON keeps nothing else alive; the text itself may be a part of a long URL.
  if (json.length === text.length + 2) known.set(json.slice(1, -1), json);
  return json;
};
