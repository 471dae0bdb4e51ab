import {checked, isCompileError, program, type Program} from '#src/cel/compile.js';
import {resultType} from '#src/cel/check.js';
import {extend, type Environment} from '#src/cel/environment.js';
import {bool, dyn, listOf, mapOf, nullType, objectType, string, type Type} from '#src/cel/types.js';
import {admissionTypes, namespaceType, requestType} from './admission-types.js';
import {authorizerType, resourceCheckType} from './authorizer.js';
import {newExpressions, storedExpressions, withLibrary} from './environment.js';
import {appliedType, jsonPatches, jsonPatchType, patchTypes} from './patches.js';

/** What an expression about requests may name besides the object before and after, the request and the namespace it is in. */
export interface AdmissionOptions {
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** It writes changes, so it can make what these are made of. */
  readonly writesPatches?: boolean;
}

/** Expressions that are written now, or that were stored once. */
export type ExpressionAge = 'new' | 'stored';

const made = new Map<string, Environment>();

/** What an expression about requests can name and call. */
export const admissionEnvironment = ({hasParams, hasAuthorizer, writesPatches = false}: AdmissionOptions, age: ExpressionAge): Environment => {
  const key = `${age} ${hasParams} ${hasAuthorizer} ${writesPatches}`;
  const known = made.get(key);
  if (known) return known;
  const environment = extend(age === 'new' ? newExpressions : storedExpressions, {
    types: admissionTypes,
    variables: {
      object: dyn,
      oldObject: dyn,
      namespaceObject: namespaceType,
      request: requestType,
      ...(hasParams && {params: dyn}),
      ...(hasAuthorizer && {authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType}),
    },
  });
  const whole = writesPatches ? extend(withLibrary(environment, jsonPatches), {types: patchTypes}) : environment;
  made.set(key, whole);
  return whole;
};

/** What expressions are for decides what they may come to; of variables that is anything. */
export const resultTypes = {
  condition: [bool],
  message: [string],
  annotation: [string, nullType],
  jsonPatch: [listOf(jsonPatchType)],
  applied: [appliedType],
  variable: [],
} satisfies Readonly<Record<string, readonly Type[]>>;

/** A type as messages about results write it: by the names of declarations. */
const declared = ({name, params}: Type): string => (params.length === 0 ? name : `${name}(${params.map(declared).join(', ')})`);

/** A program, or why there is none; `isInternal` where it is the program that cannot be made. */
export type Compiled = Program | {readonly problem: string; readonly isInternal?: true};

/** The program of an expression that is to come to one of the types, or why there is none in the original's words. */
export const compileAdmission = (environment: Environment, text: string, expected: readonly Type[]): Compiled => {
  const ast = checked(environment, text);
  if (!('types' in ast)) return {problem: `compilation failed: ${ast.message}`};
  const type = resultType(ast);
  if (expected.length > 0 && !expected.some(one => one.text === type.text)) {
    const wanted = expected.map(declared);
    return {problem: `must evaluate to ${wanted.length === 1 ? wanted[0] : `one of [${wanted.join(' ')}]`} but got ${declared(type)}`};
  }
  const made = program(ast);
  return isCompileError(made) ? {problem: `program instantiation failed: ${made.message}`, isInternal: true} : made;
};

export const isProblem = (compiled: Program | {readonly problem: string}): compiled is {readonly problem: string} => 'problem' in compiled;

/** What is known of a variable's type by those who use it: not which object it is. */
const erasedType = (type: Type): Type => {
  switch (type.kind) {
    case 'list':
      return listOf(erasedType(type.params[0]!));
    case 'map':
      return mapOf(erasedType(type.params[0]!), erasedType(type.params[1]!));
    case 'object':
    case 'opaque':
    case 'type':
    case 'param':
    case 'error':
      return dyn;
    default:
      return type;
  }
};

const variablesType = objectType('kubernetes.variables');

/** The variables of a policy: each has the type of its expression, for those that come behind it. */
export class Composition {
  readonly #fields = new Map<string, Type>();
  readonly #environments = new Map<Environment, Environment>();

  /** An environment in which expressions can name the variables that are there by then. */
  environmentFor(environment: Environment): Environment {
    const known = this.#environments.get(environment);
    if (known) return known;
    const types = {
      find: (name: string) => (name === variablesType.name ? variablesType : undefined),
      field: (_: string, field: string) => this.#fields.get(field),
    };
    const whole = extend(environment, {types, variables: {variables: variablesType}});
    this.#environments.set(environment, whole);
    return whole;
  }

  /** Adds a variable. One whose expression is none is of any type. */
  add(name: string, compiled: {readonly type: Type} | {readonly problem: string}): void {
    this.#fields.set(name, 'problem' in compiled ? dyn : erasedType(compiled.type));
  }
}
