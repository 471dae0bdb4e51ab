import type {TypeParser} from './parser.js';
import type {Handle} from './syntax.js';

/** What begins a statement, so that a value without a semicolon ends there. */
const openers: ReadonlySet<string> = new Set([
  'export',
  'import',
  'interface',
  'type',
  'const',
  'let',
  'var',
  'function',
  'class',
  'enum',
  'declare',
  'namespace',
  'module',
]);
const closing: Readonly<Record<string, string>> = {'{': '}', '(': ')', '[': ']'};

/** Statements that end with their braces. */
const blocks = ['{', 'function', 'class', 'namespace', 'module', 'global', 'async', 'abstract', 'if', 'for', 'while', 'try', 'switch'];

/** Skips a statement that declares no type. Returns the handles that it makes. */
export const skipValue = (parser: TypeParser, isBlock = blocks.some(word => parser.is(word))): Handle[] => {
  const handles: Handle[] = [];
  const open: string[] = [];
  for (let first = true; !parser.isEnd; first = false) {
    if (!first && open.length === 0 && openers.has(parser.token.text) && parser.token.type === 'name') break;
    const handle = parser.is('customKind') ? handleOf(parser) : undefined;
    if (handle) {
      handles.push(handle);
      continue;
    }
    const {type, text} = parser.next();
    if (type !== 'sign') continue;
    if (closing[text]) open.push(closing[text]);
    else if (open.at(-1) === text) open.pop();
    if (open.length === 0 && (text === ';' || (isBlock && text === '}'))) break;
  }
  return handles;
};

/** Reads `customKind<T>({group: 'example.com', ...})`, which may have the name of the kind as its second type. */
const handleOf = (parser: TypeParser): Handle | undefined => {
  const at = parser.place;
  parser.next();
  if (!parser.take('<')) return undefined;
  const type = parser.name();
  if (parser.take(',')) parser.next();
  if (!parser.take('>') || !parser.take('(') || !parser.take('{')) return undefined;
  const fields: Record<string, Handle['fields'][string]> = {};
  while (!parser.take('}') && !parser.isEnd) {
    const name = parser.next().text;
    fields[name] = parser.take(':') ? fieldOf(parser) : {constant: name};
    while (!parser.is(',') && !parser.is('}') && !parser.isEnd) {
      fields[name] = undefined;
      if (parser.is('(') || parser.is('{') || parser.is('[')) parser.skipGroup();
      else parser.next();
    }
    parser.take(',');
  }
  return {type, fields, at};
};

const fieldOf = (parser: TypeParser): Handle['fields'][string] => {
  const {type, text} = parser.token;
  if (type !== 'string' && type !== 'name') return undefined;
  parser.next();
  if (type === 'string') return text;
  return text === 'true' || text === 'false' ? text === 'true' : {constant: text};
};
