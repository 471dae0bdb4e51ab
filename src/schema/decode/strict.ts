import {propertyName, type SchemaNode} from '#src/schema/node.js';
import {maxProblems, type DecodeProblem} from './error.js';

// Detects unknown and duplicate fields in JSON text. Runs only when the decoder found an unknown field or the text
// repeats one; the usual request is parsed once.

/** Returns the number of fields in a JSON text: strings followed by a colon. */
const fieldsNamed = (text: string): number => {
  let count = 0;
  for (let start = text.indexOf('"'); start !== -1;) {
    let end = start;
    let backslashes: number;
    do {
      end = text.indexOf('"', end + 1);
      backslashes = 0;
      while (text.charCodeAt(end - 1 - backslashes) === 92) backslashes += 1;
    } while (backslashes % 2 === 1);
    let after = end + 1;
    let code = text.charCodeAt(after);
    while (code === 32 || code === 10 || code === 13 || code === 9) code = text.charCodeAt(++after);
    if (code === 58) count += 1;
    start = text.indexOf('"', after);
  }
  return count;
};

/** Returns the number of fields in a value, which must not be nested deeper than `maxDepth`. */
const fieldsKept = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += fieldsKept(item);
    return count;
  }
  for (const key of Object.keys(value)) count += 1 + fieldsKept((value as Record<string, unknown>)[key]);
  return count;
};

/** Reports whether some object in the text repeats a field, by comparing with the parsed value. */
export const hasDuplicates = (text: string, parsed: unknown): boolean => fieldsNamed(text) !== fieldsKept(parsed);

/** Parses a valid JSON text once more, in order, along with its schema. */
class StrictReader {
  readonly #text: string;
  readonly #found = new Map<string, DecodeProblem>();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(node: SchemaNode): DecodeProblem[] {
    this.#value(node, '');
    return [...this.#found.values()];
  }

  #report(kind: 'unknown' | 'duplicate', path: string): void {
    const text = `${kind} field ${JSON.stringify(path)}`;
    if (this.#found.size < maxProblems && !this.#found.has(text)) this.#found.set(text, {kind, path, text});
  }

  /** Without a node, nothing below is checked. */
  #value(node: SchemaNode | undefined, path: string): void {
    this.#space();
    const next = this.#text[this.#at];
    if (next === '{') this.#object(node, path);
    else if (next === '[') this.#array(node, path);
    else if (next === '"') this.#string();
    else while (/[-+.0-9a-zA-Z]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #object(node: SchemaNode | undefined, path: string): void {
    const seen = new Set<string>();
    const watched =
      node !== undefined && (node.type === 'object' || node.type === 'map' || (node.type === 'any' && node.format === undefined));
    this.#members('}', () => {
      const key = this.#string();
      const inner = path === '' ? key : `${path}.${key}`;
      this.#space();
      this.#at += 1;
      const child = watched ? memberNode(node, key) : undefined;
      if (watched && !child) this.#report('unknown', inner);
      else if (watched && seen.has(key)) this.#report('duplicate', inner);
      seen.add(key);
      this.#value(child, inner);
    });
  }

  #array(node: SchemaNode | undefined, path: string): void {
    let index = 0;
    const items = node?.type === 'array' ? node.items : node?.type === 'any' && node.format === undefined ? node : undefined;
    this.#members(']', () => {
      this.#value(items, `${path}[${index}]`);
      index += 1;
    });
  }

  #members(close: string, member: () => void): void {
    this.#at += 1;
    for (;;) {
      this.#space();
      const next = this.#text[this.#at];
      if (next === close || next === undefined) break;
      if (next === ',') this.#at += 1;
      else member();
    }
    this.#at += 1;
  }

  #string(): string {
    const start = this.#at;
    for (this.#at += 1; this.#text[this.#at] !== '"'; this.#at++) if (this.#text[this.#at] === '\\') this.#at += 1;
    this.#at += 1;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #space(): void {
    for (let code = this.#text.charCodeAt(this.#at); code === 32 || code === 10 || code === 13 || code === 9;)
      code = this.#text.charCodeAt(++this.#at);
  }
}

const anything: SchemaNode = {type: 'any'};

const memberNode = (node: SchemaNode, key: string): SchemaNode | undefined => {
  if (node.type === 'map') return node.items ?? anything;
  if (node.type === 'any') return anything;
  return node.properties?.get(propertyName(node, key)) ?? (node.preservesUnknown ? anything : undefined);
};

/** Returns unknown and duplicate fields in the order of the text. The text must be JSON within the nesting limit. */
export const strictProblems = (text: string, node: SchemaNode): DecodeProblem[] => new StrictReader(text).read(node);
