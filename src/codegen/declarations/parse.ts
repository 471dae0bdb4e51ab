import {docOf} from '#src/codegen/doc.js';
import {messageOf} from '#src/base/message.js';
import {constantOf} from './constants.js';
import {TypeParser} from './parser.js';
import {skipValue} from './skip-value.js';
import type {Declaration, Handle, Import, Place, Property, SourceFile, TypeNode} from './syntax.js';

/**
 * Returns the declarations of a source file: its interfaces, aliases, enums and literal constants, its imports, and the
 * handles that `customKind` makes. Other statements are skipped. What cannot be read becomes a declaration that is
 * refused if a kind uses it.
 */
export const parseDeclarations = (file: string, text: string): SourceFile => {
  const parser = new TypeParser(file, text);
  const found = new Found();
  while (!parser.isEnd) {
    const {comment} = parser.token;
    const isExport = parser.is('export');
    while (parser.is('export') || parser.is('declare') || parser.is('default')) parser.next();
    if (isExport && parser.is('type') && (parser.is('{', 1) || parser.is('*', 1))) parser.next();
    if (parser.is('import') || (isExport && (parser.is('{') || parser.is('*')))) readImports(parser, found);
    else if (isDeclaration(parser)) found.add(declarationOf(parser, comment));
    else {
      const constant = constantOf(parser);
      if (constant) found.constants.set(constant.name, constant.type);
      found.handles.push(...skipValue(parser));
    }
  }
  return {file, ...found};
};

/** What the statements of a file declare. */
class Found {
  readonly declarations = new Map<string, Declaration>();
  readonly imports = new Map<string, Import>();
  readonly reexports: string[] = [];
  readonly constants = new Map<string, TypeNode>();
  readonly handles: Handle[] = [];

  /** Adds a declaration; the fields of an interface that is declared again are added to it. */
  add(declaration: Declaration): void {
    const known = this.declarations.get(declaration.name);
    this.declarations.set(declaration.name, known ? joined(known, declaration) : declaration);
  }
}

const joined = (known: Declaration, other: Declaration): Declaration => {
  if (known.is !== 'interface' || other.is !== 'interface') return unusable(other, `${other.name} is declared twice`);
  const {properties, index = known.body.index} = other.body;
  return {
    ...known,
    bases: [...known.bases, ...other.bases],
    body: {properties: [...known.body.properties, ...properties], ...(index ? {index} : {})},
  };
};

/** A declaration that cannot become a schema, and why. */
const unusable = ({name, doc, at}: Pick<Declaration, 'name' | 'doc' | 'at'>, reason: string): Declaration => ({
  is: 'alias',
  name,
  doc,
  at,
  parameters: [],
  type: {is: 'none', reason, at},
});

/** Whether a declaration of a type begins here; the words are names elsewhere. */
const isDeclaration = (parser: TypeParser): boolean => {
  const ahead = parser.is('const') ? 1 : 0;
  if (parser.is('enum', ahead) && parser.isName(ahead + 1) && parser.is('{', ahead + 2)) return true;
  if (!parser.isName(1)) return false;
  const follows = (...signs: string[]): boolean => signs.some(sign => parser.is(sign, 2));
  return (
    (parser.is('interface') && follows('{', '<', 'extends')) ||
    (parser.is('type') && follows('=', '<')) ||
    parser.is('class') ||
    (parser.is('abstract') && parser.is('class', 1))
  );
};

type Start = Pick<Declaration, 'name' | 'doc' | 'at'>;

const declarationOf = (parser: TypeParser, comment: Parameters<typeof docOf>[0]): Declaration => {
  const at = parser.place;
  while (parser.is('const') || parser.is('abstract')) parser.next();
  const word = parser.next().text;
  const start: Start = {name: parser.name(), doc: docOf(comment), at};
  if (word === 'class') {
    skipValue(parser, true);
    return unusable(start, `${start.name} is a class: use an interface`);
  }
  const {position} = parser;
  try {
    return word === 'enum' ? {...start, is: 'enum', parameters: [], members: membersOf(parser)} : typeOf(parser, start, word);
  } catch (error) {
    parser.return(position);
    skipValue(parser, word !== 'type');
    return unusable(start, messageOf(error).replace(/^[^:]*:\d+: /, ''));
  }
};

const typeOf = (parser: TypeParser, start: Start, word: string): Declaration => {
  const parameters = parser.parameters();
  if (word === 'interface') return {...start, is: 'interface', parameters, bases: basesOf(parser), body: parser.body()};
  parser.expect('=');
  const type = parser.type();
  parser.take(';');
  return {...start, is: 'alias', parameters, type};
};

const basesOf = (parser: TypeParser): readonly TypeNode[] => {
  const bases: TypeNode[] = [];
  if (!parser.take('extends')) return bases;
  do bases.push(parser.type());
  while (parser.take(','));
  return bases;
};

/** Reads the members of an enum. Those without a value count on from the one before. */
const membersOf = (parser: TypeParser): readonly Property[] => {
  const members: Property[] = [];
  let next: number | undefined = 0;
  parser.expect('{');
  while (!parser.take('}')) {
    const {comment} = parser.token;
    const at = parser.place;
    const name = parser.next().text;
    const type: TypeNode = parser.take('=') ? valueOf(parser, name) : counted(next, name, at);
    next = type.is === 'literal' && typeof type.value === 'number' ? type.value + 1 : undefined;
    members.push({name, isOptional: false, type, doc: docOf(comment), at});
    if (!parser.take(',') && !parser.is('}')) parser.expect('}');
  }
  return members;
};

const counted = (value: number | undefined, name: string, at: Place): TypeNode =>
  value === undefined ? {is: 'none', reason: `${name} needs a value`, at} : {is: 'literal', value, at};

const valueOf = (parser: TypeParser, name: string): TypeNode => {
  const at = parser.place;
  const type: TypeNode = parser.token.type === 'name' || parser.is('(') ? {is: 'none', reason: '', at} : parser.type();
  if (type.is === 'literal' && (parser.is(',') || parser.is('}'))) return type;
  while (!parser.is(',') && !parser.is('}') && !parser.isEnd) {
    if (parser.is('(')) parser.skipGroup();
    else parser.next();
  }
  return {is: 'none', reason: `the value of ${name} is computed: write it out`, at};
};

/** Reads an import or a re-export. Forms that name nothing declare nothing that a schema could use. */
const readImports = (parser: TypeParser, found: Found): void => {
  const isImport = parser.take('import');
  const names: [local: string, name: string][] = [];
  let all = false;
  while (parser.token.type !== 'string' && !parser.isEnd && !parser.is(';')) {
    if (parser.take('{')) {
      names.push(...namesOf(parser));
      if (!parser.is('from')) break; // An export of names that are declared here.
    } else if (parser.take('*')) {
      if (parser.take('as')) names.push([parser.next().text, '*']);
      else all = true;
    } else parser.next();
  }
  const from = parser.token.type === 'string' ? parser.next().text : undefined;
  if (parser.is('with')) parser.next();
  parser.skipGroup();
  parser.take(';');
  if (from === undefined) return;
  if (all && !isImport) found.reexports.push(from);
  for (const [local, name] of names) found.imports.set(local, {from, name});
};

const namesOf = (parser: TypeParser): readonly [string, string][] => {
  const names: [string, string][] = [];
  while (!parser.take('}') && !parser.isEnd) {
    if (parser.is('type') && !parser.is(',', 1) && !parser.is('}', 1) && !parser.is('as', 1)) parser.next();
    const name = parser.next().text;
    names.push([parser.take('as') ? parser.next().text : name, name]);
    parser.take(',');
  }
  return names;
};
