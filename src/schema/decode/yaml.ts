import {Composer, isAlias, isMap, isScalar, isSeq, LineCounter, Parser, type Document, type Node, type Pair} from 'yaml';
import {DecodeError, type DecodeProblem} from './error.js';

const dropped = new Set(['tag:yaml.org,2002:timestamp', 'tag:yaml.org,2002:set', 'tag:yaml.org,2002:omap', 'tag:yaml.org,2002:pairs', 'tag:yaml.org,2002:binary']);

/** The first document of a text, by YAML 1.1 as the field reads it: `yes` is a boolean, a time is a string, base 60 is unknown. */
const firstDocument = (text: string, lines: LineCounter): Document.Parsed | undefined => {
  const composer = new Composer({
    version: '1.1',
    uniqueKeys: false,
    lineCounter: lines,
    logLevel: 'silent',
    customTags: tags => tags.filter(tag => typeof tag !== 'object' || (!dropped.has(tag.tag) && tag.format !== 'TIME')),
  });
  for (const document of composer.compose(new Parser(lines.addNewLine).parse(text))) return document;
  return undefined;
};

const lineOf = (node: unknown, lines: LineCounter): number => {
  const at = (node as Node | null)?.range?.[0];
  return at === undefined ? 0 : lines.linePos(at).line;
};

const shownKey = (key: unknown): string | undefined => {
  if (!isScalar(key)) return undefined;
  return typeof key.value === 'string' ? JSON.stringify(key.value) : String(key.value);
};

const duplicates = (root: unknown, lines: LineCounter): DecodeProblem[] => {
  const found: DecodeProblem[] = [];
  const visit = (node: unknown): void => {
    if (isSeq(node)) for (const item of node.items) visit(item);
    if (!isMap(node)) return;
    const seen = new Set<string>();
    for (const {key, value} of node.items as Pair<unknown, unknown>[]) {
      const name = shownKey(key);
      if (name !== undefined && seen.has(name)) {
        const line = lineOf(value, lines) || lineOf(key, lines);
        found.push({kind: 'yaml', path: name, text: `line ${line}: key ${name} already set in map`});
      } else {
        visit(value);
      }
      if (name !== undefined) seen.add(name);
    }
  };
  visit(root);
  return found;
};

/** Refuses keys that are no scalars, and tells whether aliases occur. */
const inspected = (root: unknown): {hasAliases: boolean} => {
  let hasAliases = false;
  const open: unknown[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    if (isAlias(node)) hasAliases = true;
    if (isSeq(node)) for (const item of node.items) open.push(item);
    if (!isMap(node)) continue;
    for (const {key, value} of node.items) {
      if (isMap(key) || isSeq(key)) throw new DecodeError(`yaml: invalid map key: ${JSON.stringify(key.toJSON())}`);
      open.push(key, value);
    }
  }
  return {hasAliases};
};

/** What JSON cannot hold: infinities and things that are not numbers. */
const unencodable = (value: unknown): string | undefined => {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'number' && !Number.isFinite(next)) return Number.isNaN(next) ? 'NaN' : next > 0 ? '+Inf' : '-Inf';
    if (typeof next === 'object' && next !== null) for (const child of Object.values(next)) open.push(child);
  }
  return undefined;
};

/** What a YAML text says, with the keys that are set twice. The last of them counts. Throws `DecodeError`. */
export const parseYaml = (text: string): {value: unknown; problems: DecodeProblem[]} => {
  const lines = new LineCounter();
  try {
    const document = firstDocument(text, lines);
    if (!document) return {value: null, problems: []};
    const error = document.errors[0];
    if (error) throw new DecodeError(`yaml: line ${error.linePos?.[0].line ?? 1}: ${error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '')}`);
    const {hasAliases} = inspected(document.contents);
    const value: unknown = document.toJS({maxAliasCount: 100});
    const wrong = unencodable(value);
    if (wrong) throw new DecodeError(`json: unsupported value: ${wrong}`);
    // Aliased values are one object in many places; what follows may change one of them.
    return {value: hasAliases ? (JSON.parse(JSON.stringify(value)) as unknown) : value, problems: duplicates(document.contents, lines)};
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    if (error instanceof RangeError) throw new DecodeError('yaml: exceeded max depth', {cause: error});
    if (error instanceof ReferenceError && /alias count/i.test(error.message)) throw new DecodeError('yaml: document contains excessive aliasing', {cause: error});
    throw new DecodeError(`yaml: ${(error as Error).message}`, {cause: error});
  }
};
