import type {Steps} from '#src/base/steps.js';

/** How many bytes are looked at in one step. */
const bytesPerStep = 1 << 20;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** How much a JSON text holds, as long as it is JSON. */
export interface JsonExtent {
  /** How deep objects and arrays are nested. */
  readonly depth: number;
  /** How many objects, arrays and further entries of them there are: no fewer than half of all values. */
  readonly values: number;
}

/**
 * Measures a JSON text in steps without parsing it, up to so many values: parsed ones take many times the memory of
 * their text.
 */
export const jsonExtentInSteps = function* (body: Uint8Array, maxValues: number): Steps<JsonExtent> {
  let [depth, deepest, values] = [0, 0, 0];
  let isText = false;
  for (let at = 0, until = bytesPerStep; at < body.length && values <= maxValues; until += bytesPerStep) {
    const end = Math.min(until, body.length);
    for (; at < end; at++) {
      const byte = body[at]!;
      if (byte === quote) isText = !isText;
      else if (isText) at += byte === backslash ? 1 : 0;
      else if (byte === comma) values++;
      else if (byte === openBrace || byte === openBracket) {
        values++;
        if (++depth > deepest) deepest = depth;
      } else if (byte === closeBrace || byte === closeBracket) depth--;
    }
    yield;
  }
  return {depth: deepest, values};
};
