// The environment of a CEL expression, extended step by step from the empty one, and the resolution of names in it.

import type {FunctionDeclaration, Library, Overload, TypeSource} from './declarations.js';
import {standardMacros, type Macro} from '#src/cel/syntax/macros.js';
import {macroTable, type ParseOptions} from '#src/cel/syntax/parse.js';
import {namedTypes, typeOf, type Type} from '#src/cel/values/types.js';

/**
 * The variables, functions, macros and types that an expression may use, and the checks that apply to it. Immutable;
 * shared by any number of expressions.
 */
export interface Environment {
  readonly variables: ReadonlyMap<string, Type>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly types: TypeSource;
  /** The container in which names are resolved first (`a.b`), or the empty string. */
  readonly container: string;
  readonly syntax: ParseOptions & {readonly macros: ReadonlyMap<string, Macro>};
  /**
   * Whether constant durations, timestamps, patterns and formats are validated, and list and map literals must have
   * elements of one type.
   */
  readonly validatesLiterals: boolean;
  readonly libraries: readonly Library[];
  /** The variable whose fields are computed when they are used, if there is one. */
  readonly computed?: {readonly name: string; readonly type: Type} | undefined;
}

/** Additions to an environment. */
export interface Extension {
  readonly libraries?: readonly Library[];
  readonly variables?: Readonly<Record<string, Type>> | ReadonlyMap<string, Type>;
  /** Types that are resolved before the existing ones. */
  readonly types?: TypeSource;
  readonly container?: string;
  readonly validatesLiterals?: boolean;
  readonly escapedNames?: boolean;
  readonly computed?: Environment['computed'];
}

const noTypes: TypeSource = {find: () => undefined, field: () => undefined};

/** The standard macros and type names only. */
export const emptyEnvironment: Environment = {
  variables: new Map(),
  functions: new Map(),
  types: noTypes,
  container: '',
  syntax: {macros: macroTable(standardMacros), optionalSyntax: false, escapedNames: false},
  validatesLiterals: false,
  libraries: [],
};

const isSameShape = (left: Overload, right: Overload): boolean => left.id === right.id;

/** Merges two declarations of one function. The second adds overloads, or replaces those with the same id. */
const merged = (before: FunctionDeclaration | undefined, added: FunctionDeclaration): FunctionDeclaration =>
  before
    ? {
        ...before,
        ...added,
        overloads: [...before.overloads.filter(kept => !added.overloads.some(overload => isSameShape(kept, overload))), ...added.overloads],
      }
    : added;

const combinedTypes = (first: TypeSource, second: TypeSource): TypeSource => ({
  find: name => first.find(name) ?? second.find(name),
  field: (type, field) => (first.find(type) ? first.field(type, field) : second.field(type, field)),
  create: (type, fields) => ((first.find(type) && first.create) || second.create || noCreation)(type, fields),
});

const noCreation = (type: string): never => {
  throw new Error(`objects of the type ${type} cannot be made`);
};

/** Returns a new environment with the additions. */
export const extend = (environment: Environment, extension: Extension): Environment => {
  const {libraries = [], variables = {}, types, container = environment.container} = extension;
  const functions = new Map(environment.functions);
  const macros = new Map(environment.syntax.macros);
  const named = new Map<string, Type>();
  for (const library of libraries) {
    for (const declaration of library.functions ?? [])
      functions.set(declaration.name, merged(functions.get(declaration.name), declaration));
    for (const [key, macro] of macroTable(library.macros ?? [])) macros.set(key, macro);
    for (const type of library.types ?? []) named.set(type.name, type);
  }
  const libraryTypes: TypeSource =
    named.size > 0 ? combinedTypes({find: name => named.get(name), field: () => undefined}, environment.types) : environment.types;
  return {
    variables: new Map([...environment.variables, ...(variables instanceof Map ? variables : Object.entries(variables))]),
    functions,
    types: types ? combinedTypes(types, libraryTypes) : libraryTypes,
    container,
    syntax: {
      macros,
      optionalSyntax: environment.syntax.optionalSyntax === true || libraries.some(({optionalSyntax}) => optionalSyntax === true),
      escapedNames: extension.escapedNames ?? environment.syntax.escapedNames ?? false,
    },
    validatesLiterals: extension.validatesLiterals ?? environment.validatesLiterals,
    libraries: [...environment.libraries, ...libraries],
    computed: extension.computed ?? environment.computed,
  };
};

/**
 * Returns the full names that a name may have in a container, in resolution order: for `x` in `a.b` these are `a.b.x`,
 * `a.x` and `x`.
 */
const candidateNames = (container: string, name: string): readonly string[] => {
  if (name.startsWith('.')) return [name.slice(1)];
  if (container === '') return [name];
  const parts = container.split('.');
  return [...parts.map((_, index) => [...parts.slice(0, parts.length - index), name].join('.')), name];
};

/** What an identifier resolves to: a variable, or a type used as a value. */
export interface ResolvedName {
  readonly name: string;
  readonly type: Type;
  readonly isType: boolean;
}

/** Resolves a name to a variable or a type. */
export const resolveName = (environment: Environment, name: string): ResolvedName | undefined => {
  for (const candidate of candidateNames(environment.container, name)) {
    const variable = environment.variables.get(candidate);
    if (variable) return {name: candidate, type: variable, isType: false};
    const type = environment.types.find(candidate) ?? namedTypes.get(candidate);
    if (type) return {name: candidate, type: typeOf(type), isType: true};
  }
  return undefined;
};

/** Resolves a function name. */
export const resolveFunction = (environment: Environment, name: string): FunctionDeclaration | undefined => {
  for (const candidate of candidateNames(environment.container, name)) {
    const declaration = environment.functions.get(candidate);
    if (declaration) return declaration;
  }
  return undefined;
};
