import type {Steps} from '#src/base/steps.js';
import {setProperty} from './set-property.js';

/** How much is parsed in one step. */
export const pieceBytes = 64 << 10;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

type Container = Record<string, unknown> | unknown[];

/** An object or array whose end has not been reached. */
interface Open {
  readonly isArray: boolean;
  /** Where its entry in the container around it begins: with its key, if that is an object. */
  readonly entry: number;
  readonly start: number;
  /** Made once a part of it is parsed. */
  value: Container | undefined;
  /** Where what is not parsed yet begins, and the entry that is being walked through. */
  from: number;
  at: number;
  /** Whether `from` is right behind an entry, so that a comma has to follow before the next. */
  isBehindEntry: boolean;
}

/** Freezes a value that was just parsed, and all it holds. */
const frozenDeep = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  if (Array.isArray(value)) for (const item of value) frozenDeep(item);
  else for (const key in value) frozenDeep((value as Record<string, unknown>)[key]);
};

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Reads a document from its first bracket on, and makes what it holds part by part. */
class Reader {
  readonly #body: Buffer;
  readonly #freezes: boolean;
  readonly #read: (text: string) => unknown;
  readonly #open: Open[] = [];
  #at = 0;
  root: unknown;

  constructor(body: Buffer, freezes: boolean, parse: (text: string) => unknown) {
    this.#read = parse;
    this.#body = body;
    this.#freezes = freezes;
  }

  *read(): Steps<void> {
    const body = this.#body;
    const {length} = body;
    let parsed = 0;
    while (this.#at < length) {
      const at = this.#at++;
      const byte = body[at]!;
      if (byte === quote) this.#skipText();
      else if (byte === comma) {
        const top = this.#open.at(-1);
        if (!top) throw malformed(at);
        if (this.#at - parsed >= pieceBytes) {
          parsed = this.#at;
          this.#parseAll(at);
          yield;
        }
        top.at = this.#at;
      } else if (byte === openBrace || byte === openBracket) this.#begin(at, byte === openBracket);
      else if (byte === closeBrace || byte === closeBracket) {
        this.#end(at, byte === closeBracket);
        if (this.#open.length === 0) return this.#expectEnd();
      }
    }
    throw malformed(length);
  }

  #skipText(): void {
    const body = this.#body;
    const {length} = body;
    let at = this.#at;
    while (at < length) {
      const byte = body[at++]!;
      if (byte === quote) break;
      if (byte === backslash) at++;
    }
    this.#at = at;
  }

  #begin(start: number, isArray: boolean): void {
    const from = start + 1;
    const around = this.#open.at(-1);
    if (around?.isBehindEntry && around.at === around.from) throw malformed(start);
    this.#open.push({isArray, start, entry: around?.at ?? start, value: undefined, from, at: from, isBehindEntry: false});
  }

  #end(at: number, isArray: boolean): void {
    const open = this.#open.pop();
    if (open?.isArray !== isArray) throw malformed(at);
    const around = this.#open.at(-1);
    if (open.value) {
      this.#parse(open, at, true);
      if (this.#freezes) Object.freeze(open.value);
      if (around) Object.assign(around, {from: this.#at, at: this.#at, isBehindEntry: true});
      return;
    }
    if (around) return; // It is parsed with what is around it.
    this.root = this.#value(this.#body.toString('utf8', open.start, this.#at));
  }

  /** Parses all entries that end before `at`, of every container that is open. */
  #parseAll(at: number): void {
    let around: Open | undefined;
    for (const [index, open] of this.#open.entries()) {
      const inner = this.#open[index + 1];
      this.#make(open, around);
      const to = inner ? inner.entry - 1 : at;
      if (to >= open.from) this.#parse(open, to, false);
      if (inner) Object.assign(open, {from: inner.entry, isBehindEntry: false});
      else Object.assign(open, {from: at + 1, isBehindEntry: false});
      around = open;
    }
  }

  /** Makes a container a part of the one around it, before its entries are known. */
  #make(open: Open, around: Open | undefined): void {
    if (open.value) return;
    const value: Container = open.isArray ? [] : {};
    open.value = value;
    if (!around) this.root = value;
    else if (!Array.isArray(around.value)) setProperty(around.value!, this.#keyOf(open), value);
    else if (this.#body.toString('latin1', open.entry, open.start).trim() === '') around.value.push(value);
    else throw malformed(open.entry);
  }

  #keyOf({entry, start}: Open): string {
    const keys = Object.keys(this.#read(`{${this.#body.toString('utf8', entry, start)}0}`) as object);
    if (keys.length !== 1) throw malformed(entry);
    return keys[0]!;
  }

  /** Parses the entries of a container from where it was parsed to. At its end there may be none left. */
  #parse(open: Open, to: number, isEnd: boolean): void {
    const body = this.#body;
    let {from} = open;
    while (from < to && isSpace(body[from])) from++;
    if (open.isBehindEntry) {
      if (from === to) return;
      if (body[from++] !== comma) throw malformed(from);
    } else if (isEnd && from === to) throw malformed(to); // Nothing behind a comma.
    const text = body.toString('utf8', from, to);
    const {value} = open;
    if (Array.isArray(value)) {
      const items = this.#value(`[${text}]`) as unknown[];
      if (items.length === 0) throw malformed(from);
      for (const item of items) value.push(item);
      return;
    }
    const entries = this.#value(`{${text}}`) as Record<string, unknown>;
    let isEmpty = true;
    for (const key in entries) {
      isEmpty = false;
      setProperty(value!, key, entries[key]);
    }
    if (isEmpty) throw malformed(from);
  }

  #value(text: string): unknown {
    const value = this.#read(text);
    if (this.#freezes) frozenDeep(value);
    return value;
  }

  #expectEnd(): void {
    while (isSpace(this.#body[this.#at])) this.#at++;
    if (this.#at < this.#body.length) throw malformed(this.#at);
  }
}

const malformed = (at: number): SyntaxError => new SyntaxError(`malformed JSON at position ${at}`);

/**
 * Parses JSON in steps of some 64 KB, so that a long document does not block the event loop. The result is that of
 * `parse`, deeply frozen if asked for. Throws SyntaxError for what is no JSON.
 */
export const parseInSteps = function* (
  body: Buffer,
  {freezes = false, parse = JSON.parse}: {readonly freezes?: boolean; readonly parse?: (text: string) => unknown} = {},
): Steps<unknown> {
  let start = 0;
  while (isSpace(body[start])) start++;
  if (body.length <= pieceBytes || (body[start] !== openBrace && body[start] !== openBracket)) {
    const value = parse(body.toString());
    if (freezes) frozenDeep(value);
    return value;
  }
  const reader = new Reader(body, freezes, parse);
  yield* reader.read();
  return reader.root;
};
