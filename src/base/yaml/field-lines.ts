import {isAlias, isMap, isScalar, isSeq, type Document, type LineCounter, type Node, type Pair} from 'yaml';
import {documentsOf} from './parse.js';
import {valueOf, type YamlValue} from './value.js';

/** A document of a file, and where its fields are. */
export interface DocumentWithLines extends YamlValue {
  /**
   * Returns the line of a field by its path, as in `spec.containers[0].image`; for one that is not there, that of the
   * nearest field above it.
   */
  lineOf(path: string): number;
}

/** Yields the documents of a text that hold something. Throws `YamlError`. */
export const documentsWithLines = function* (text: string): Generator<DocumentWithLines, void> {
  for (const {document, lines} of documentsOf(text)) {
    const {value, repeated} = valueOf(document, lines);
    if (value === null) continue;
    yield {value, repeated, lineOf: path => lineAt(document, lines, path)};
  }
};

/** Returns the parts of a field's path: names, and what is in brackets, an index or a key. */
export const fieldParts = (path: string): string[] => {
  const parts: string[] = [];
  let name = '';
  for (let at = 0; at < path.length; at++) {
    const character = path[at]!;
    if (character !== '.' && character !== '[') {
      name += character;
      continue;
    }
    if (name) parts.push(name);
    name = '';
    if (character === '.') continue;
    const end = path.indexOf(']', at);
    if (end === -1) break;
    parts.push(unquoted(path.slice(at + 1, end)));
    at = end;
  }
  return name ? [...parts, name] : parts;
};

const unquoted = (text: string): string => (text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text);

const keyText = (key: Node | null): string | undefined => (isScalar(key) ? String(key.source ?? key.value) : undefined);

const lineAt = (document: Document, lines: LineCounter, path: string): number => {
  const parts = fieldParts(path);
  let node: Node | null = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (let at = 0; at < parts.length;) {
    if (isAlias(node)) node = node.resolve(document) ?? null;
    const found = childOf(node, parts, at);
    if (!found) break;
    offset = found.offset ?? offset;
    node = found.value;
    at += found.parts;
  }
  return lines.linePos(offset).line;
};

interface Child {
  readonly offset: number | undefined;
  readonly value: Node | null;
  /** How many parts of the path name it: more than one for keys with dots. */
  readonly parts: number;
}

/** The most parts that a key with dots has. */
const mostParts = 8;

const childOf = (node: Node | null, parts: readonly string[], at: number): Child | undefined => {
  if (isSeq(node)) {
    const item = node.items[Number(parts[at])] as Node | null | undefined;
    return item ? {offset: item.range?.[0], value: item, parts: 1} : undefined;
  }
  if (!isMap(node)) return undefined;
  const pairs = node.items as Pair<Node, Node | null>[];
  for (let count = 1; count <= Math.min(mostParts, parts.length - at); count++) {
    const name = parts.slice(at, at + count).join('.');
    const pair = pairs.find(({key}) => keyText(key) === name);
    if (pair) return {offset: pair.key.range?.[0], value: pair.value, parts: count};
  }
  return undefined;
};
