import {ownTurn} from '#src/base/turn.js';
import {isPlainObject} from '#src/schema/decode/plain.js';

/** How much is parsed in one turn of the event loop. */
const pieceBytes = 128 << 10;

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Walks through JSON from mark to mark. What is no JSON is walked through as well: whoever parses it finds out. */
class Marks {
  at: number;
  readonly #body: Buffer;

  constructor(body: Buffer, at: number) {
    this.#body = body;
    this.at = at;
  }

  /** The next byte that opens, closes or parts something, or begins a text; `at` is behind it. Undefined at the end. */
  next(): number | undefined {
    while (this.at < this.#body.length) {
      const byte = this.#body[this.at++]!;
      if (byte === quote || byte === comma || byte === colon || byte === openBrace || byte === closeBrace || byte === openBracket || byte === closeBracket) return byte;
    }
    return undefined;
  }

  /** Goes behind the text that has just begun. */
  skipText(): void {
    while (this.at < this.#body.length) {
      const byte = this.#body[this.at++]!;
      if (byte === quote) return;
      if (byte === backslash) this.at++;
    }
  }
}

/** Where the content of the `items` of an object begins; undefined where it has none. */
const startOfItems = (body: Buffer): number | undefined => {
  const marks = new Marks(body, 0);
  let depth = 0;
  let key = '';
  for (let mark = marks.next(); mark !== undefined; mark = marks.next()) {
    if (mark === openBracket && depth === 1 && key === 'items') return marks.at;
    if (mark === openBrace || mark === openBracket) depth++;
    else if (mark === closeBrace || mark === closeBracket) depth--;
    else if (mark === comma && depth === 1) key = '';
    else if (mark === quote) {
      const from = marks.at;
      marks.skipText();
      if (depth === 1 && key === '' && marks.at - from < 16) key = body.toString('latin1', from, marks.at - 1);
    }
  }
  return undefined;
};

/** Parses the items that begin at `start`, piece by piece, each in a turn of its own; and where they end. */
const parsedItems = async (body: Buffer, start: number): Promise<{readonly items: unknown[]; readonly end: number}> => {
  const marks = new Marks(body, start);
  const items: unknown[] = [];
  let depth = 0;
  let from = start;
  const parse = (to: number): void => {
    for (const item of JSON.parse(`[${body.toString('utf8', from, to)}]`) as unknown[]) items.push(item);
  };
  for (let mark = marks.next(); mark !== undefined; mark = marks.next()) {
    if (mark === quote) marks.skipText();
    else if (mark === openBrace || mark === openBracket) depth++;
    else if (mark === closeBrace || mark === closeBracket) depth--;
    if (depth < 0) break;
    if (depth > 0 || mark !== comma || marks.at - from < pieceBytes) continue;
    parse(marks.at - 1);
    from = marks.at;
    await ownTurn();
  }
  const end = marks.at - 1;
  parse(end);
  return {items, end};
};

/**
 * Reads JSON that may be a long list without holding the event loop for as long as all of it takes. Returns undefined for what is short or no list, and for what is no JSON:
 * that is to be read in one piece.
 */
export const readLongList = async (body: Buffer): Promise<unknown> => {
  if (body.length <= pieceBytes) return undefined;
  const start = startOfItems(body);
  if (start === undefined) return undefined;
  try {
    const {items, end} = await parsedItems(body, start);
    const list: unknown = JSON.parse(body.toString('utf8', 0, start) + body.toString('utf8', end));
    // Who writes a key twice means the last one.
    return isPlainObject(list) && Array.isArray(list['items']) && list['items'].length === 0 ? {...list, items} : undefined;
  } catch {
    return undefined;
  }
};
