import {parseJson} from '#src/base/json/json.js';
import {Composer, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, Parser, type CST, type Document, type Node, type Pair} from 'yaml';
import {DecodeError, maxProblems, type DecodeProblem} from './error.js';
import {put} from '#src/base/json/put.js';
import {isNestedDeeper, type PlainObject} from './plain.js';
import {hasDuplicates} from './strict.js';
import {formatKey, yamlProblem} from './yaml-problem.js';

// Parses YAML 1.1 to JSON values with bounded nesting and alias expansion.

const dropped = new Set([
  'tag:yaml.org,2002:timestamp',
  'tag:yaml.org,2002:set',
  'tag:yaml.org,2002:omap',
  'tag:yaml.org,2002:pairs',
  'tag:yaml.org,2002:binary',
]);

/** Binary values are decoded to text. */
const binary = {tag: 'tag:yaml.org,2002:binary', resolve: (text: string) => Buffer.from(text, 'base64').toString()};

/** A `%YAML` directive of another version than 1.1, which is rejected. */
const otherLanguage = /^(?:[^\S\n]*(?:#[^\n]*)?\n)*%YAML[ \t]+(?!1\.1\b)/;

/**
 * The nesting limit. Deeper texts would nearly exhaust the stack, where an overflow is not always a catchable error: compiling a regular expression there ends
 * the process.
 */
const maxNesting = 400;

/** Yields the tokens of a text. Throws as soon as the nesting is too deep, before any recursion over the tokens. */
const tokensOf = function* (text: string, lines: LineCounter): Generator<CST.Token, void> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > maxNesting) throw new DecodeError('yaml: exceeded max depth');
  }
  yield* parser.end();
};

/** Returns the first document of a text, parsed as YAML 1.1 like the original: `yes` is a boolean, a time is a string, base 60 is not supported. */
const firstDocument = (text: string, lines: LineCounter, isExact: boolean): Document.Parsed | undefined => {
  const composer = new Composer({
    version: '1.1',
    uniqueKeys: false,
    intAsBigInt: isExact,
    lineCounter: lines,
    logLevel: 'silent',
    customTags: tags => [...tags.filter(tag => typeof tag !== 'object' || (!dropped.has(tag.tag) && tag.format !== 'TIME')), binary],
  });
  for (const document of composer.compose(tokensOf(text, lines))) return document;
  return undefined;
};

const manyDigits = /\d{16}/;

/** Converts integers as JSON parsing does: to bigint if a number cannot hold them exactly. Shared parts stay shared. */
const withNumbers = (value: unknown, seen = new Map<object, unknown>()): unknown => {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) || BigInt.asIntN(64, value) !== value ? Number(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  const copy: unknown[] | PlainObject = Array.isArray(value) ? [] : {};
  seen.set(value, copy);
  if (Array.isArray(value)) for (const item of value) (copy as unknown[]).push(withNumbers(item, seen));
  else for (const [key, item] of Object.entries(value)) put(copy as PlainObject, key, withNumbers(item, seen));
  return copy;
};

const lineOf = (node: unknown, lines: LineCounter): number => {
  const at = (node as Node | null)?.range?.[0];
  return at === undefined ? 0 : lines.linePos(at).line;
};

const keyText = (key: unknown): string | undefined => {
  if (!isScalar(key)) return undefined;
  return typeof key.value === 'string' ? JSON.stringify(key.value) : String(key.value);
};

const duplicates = (root: unknown, lines: LineCounter): DecodeProblem[] => {
  const found: DecodeProblem[] = [];
  const visit = (node: unknown): void => {
    if (isSeq(node)) for (const item of node.items) visit(item);
    if (!isMap(node) || found.length >= maxProblems) return;
    const seen = new Set<string>();
    for (const {key, value} of node.items as Pair<unknown, unknown>[]) {
      const name = keyText(key);
      if (name !== undefined && seen.has(name)) {
        const line = lineOf(value, lines) || lineOf(key, lines);
        if (found.length < maxProblems) found.push({kind: 'yaml', path: name, text: `line ${line}: key ${name} already set in map`});
      } else {
        visit(value);
      }
      if (name !== undefined) seen.add(name);
    }
  };
  visit(root);
  return found;
};

/** Rejects keys that are not scalars and counts the aliases. */
const inspected = (root: unknown): {aliases: number} => {
  let aliases = 0;
  const open: unknown[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    if (isAlias(node)) aliases++;
    if (isSeq(node)) for (const item of node.items) open.push(item);
    if (!isMap(node)) continue;
    for (const {key, value} of node.items) {
      if (isMap(key) || isSeq(key)) throw new DecodeError(`yaml: invalid map key: ${formatKey(key.toJSON())}`);
      open.push(key, value);
    }
  }
  return {aliases};
};

/** Returns the text of a number that JSON cannot represent: infinity or NaN. */
const unencodable = (value: unknown): string | undefined => {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'number' && !Number.isFinite(next)) return Number.isNaN(next) ? 'NaN' : next > 0 ? '+Inf' : '-Inf';
    if (typeof next === 'object' && next !== null) for (const child of Object.values(next)) open.push(child);
  }
  return undefined;
};

const tooManyAliases = 'yaml: document contains excessive aliasing';

/** The limit of a text with expanded aliases, in characters; the same as without aliases. */
const maxAliased = 3 * 1024 * 1024;

/** Copies values so that aliases no longer share objects, since decoding may change one of them. */
class Copying {
  readonly #within = new Set<object>();
  #size = 0;

  /** Throws for a value that contains itself, and for one that is too large when expanded. */
  copy(value: unknown): unknown {
    this.#count(typeof value === 'string' ? value.length : 1);
    if (typeof value !== 'object' || value === null) return value;
    if (this.#within.has(value)) throw new DecodeError('yaml: anchor value contains itself');
    this.#within.add(value);
    const copy: unknown = Array.isArray(value)
      ? value.map(item => this.copy(item))
      : Object.fromEntries(Object.entries(value).map(([key, item]) => [this.#key(key), this.copy(item)]));
    this.#within.delete(value);
    return copy;
  }

  #key(key: string): string {
    this.#count(key.length);
    return key;
  }

  #count(characters: number): void {
    this.#size += characters + 1;
    if (this.#size > maxAliased) throw new DecodeError(tooManyAliases);
  }
}

/** Returns the value of a text that is JSON, as most applies are; undefined for other texts, repeated keys or deep nesting. */
export const jsonInYaml = (text: string): unknown => {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value = parseJson(text);
    return isNestedDeeper(value, maxNesting) || hasDuplicates(text, value) || unencodable(value) ? undefined : value;
  } catch {
    return undefined;
  }
};

/** Parses YAML. Returns the value, in which the last of repeated keys wins, and the repeated keys. Throws `DecodeError`. */
export const parseYaml = (text: string): {value: unknown; problems: DecodeProblem[]} => {
  const json = jsonInYaml(text);
  if (json !== undefined) return {value: json, problems: []};
  if (otherLanguage.test(text)) throw new DecodeError('yaml: found incompatible YAML document');
  const lines = new LineCounter();
  try {
    const isExact = manyDigits.test(text);
    const document = firstDocument(text, lines, isExact);
    if (!document) return {value: null, problems: []};
    const error = document.errors[0];
    if (error)
      throw new DecodeError(
        `yaml: ${yamlProblem(text, error) ?? `line ${lines.linePos(error.pos[0]).line}: ${error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '')}`}`,
      );
    const {aliases} = inspected(document.contents);
    const read: unknown = document.toJS({maxAliasCount: 100});
    const shared = isExact ? withNumbers(read) : read;
    const value = aliases > 0 ? new Copying().copy(shared) : shared;
    const wrong = unencodable(value);
    if (wrong) throw new DecodeError(`json: unsupported value: ${wrong}`);
    return {value, problems: duplicates(document.contents, lines)};
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    if (error instanceof RangeError) throw new DecodeError('yaml: exceeded max depth', {cause: error});
    if (error instanceof ReferenceError && /alias count/i.test(error.message)) throw new DecodeError(tooManyAliases, {cause: error});
    const alias = /^Unresolved alias .*: (.*)$/.exec((error as Error).message)?.[1];
    throw new DecodeError(`yaml: ${alias === undefined ? (error as Error).message : `unknown anchor '${alias}' referenced`}`, {
      cause: error,
    });
  }
};
