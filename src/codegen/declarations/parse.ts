import {docOf} from '#src/codegen/doc.js';
import {TypeParser} from './parser.js';
import type {Declaration, Handle, Import, SourceFile, TypeNode} from './syntax.js';

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
]);
const closing: Readonly<Record<string, string>> = {'{': '}', '(': ')', '[': ']'};

/**
 * Returns the declarations of a source file: its interfaces and aliases, its imports, and the handles that `customKind`
 * makes. Other values are skipped. Throws an error of one line that names the file and the line for a declaration that
 * cannot become a schema.
 */
export const parseDeclarations = (file: string, text: string): SourceFile => {
  const parser = new TypeParser(file, text);
  const declarations = new Map<string, Declaration>();
  const imports = new Map<string, Import>();
  const handles: Handle[] = [];
  const add = (declaration: Declaration): void => {
    if (declarations.has(declaration.name)) parser.fail(`${declaration.name} is declared twice`, declaration.at);
    declarations.set(declaration.name, declaration);
  };
  while (!parser.isEnd) {
    const {token} = parser;
    const doc = docOf(token.comment);
    while (parser.is('export') || parser.is('declare') || parser.is('default')) parser.next();
    const at = parser.place;
    if (parser.is('import') || parser.is('{') || parser.is('*')) importsOf(parser).forEach(([local, found]) => imports.set(local, found));
    else if (parser.is('interface')) {
      parser.next();
      const name = parser.name();
      parser.refuseParameters(name);
      add({is: 'interface', name, doc, at, bases: basesOf(parser), body: parser.body()});
    } else if (parser.is('type') && !parser.is('{', 1)) {
      parser.next();
      const name = parser.name();
      parser.refuseParameters(name);
      parser.expect('=');
      add({is: 'alias', name, doc, at, type: parser.type()});
      parser.take(';');
    } else if (parser.is('enum') || (parser.is('const') && parser.is('enum', 1))) {
      parser.fail('enums are not supported: write a union of literals');
    } else handles.push(...skipValue(parser));
  }
  return {file, declarations, imports, handles};
};

const basesOf = (parser: TypeParser): readonly TypeNode[] => {
  const bases: TypeNode[] = [];
  if (!parser.take('extends')) return bases;
  do {
    const at = parser.place;
    const name = parser.name();
    parser.refuseParameters(name);
    bases.push({is: 'name', name, of: [], at});
  } while (parser.take(','));
  return bases;
};

/** Reads an import or a re-export: the names in braces. Other forms declare nothing that a schema could use. */
const importsOf = (parser: TypeParser): [string, Import][] => {
  parser.take('import');
  const names: [string, string][] = [];
  while (parser.token.type !== 'string' && !parser.isEnd && !parser.is(';')) {
    if (parser.take('{')) {
      while (!parser.take('}') && !parser.isEnd) {
        if (parser.is('type') && !parser.is(',', 1) && !parser.is('}', 1) && !parser.is('as', 1)) parser.next();
        const name = parser.next().text;
        names.push([parser.take('as') ? parser.next().text : name, name]);
        parser.take(',');
      }
      if (!parser.is('from')) break; // An export of names that are declared here.
    } else parser.next();
  }
  const from = parser.token.type === 'string' ? parser.next().text : undefined;
  parser.take(';');
  return from === undefined ? [] : names.map(([local, name]) => [local, {from, name}]);
};

/** Skips a statement that declares no type. Returns the handles that it makes. */
const skipValue = (parser: TypeParser): Handle[] => {
  const handles: Handle[] = [];
  const open: string[] = [];
  const isBlock = ['function', 'class', 'namespace', 'async', 'abstract'].some(word => parser.is(word));
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
  const fields: Record<string, string | boolean> = {};
  while (!parser.take('}') && !parser.isEnd) {
    const name = parser.next().text;
    if (!parser.take(':')) parser.fail('the fields of a handle must be literals');
    const {type: given, text} = parser.next();
    if (given !== 'string' && text !== 'true' && text !== 'false') parser.fail(`the field ${name} of a handle must be a literal`);
    fields[name] = given === 'string' ? text : text === 'true';
    parser.take(',');
  }
  return {type, fields, at};
};
