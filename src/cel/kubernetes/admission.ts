// Environments and result types of the expressions in admission policies, webhook match conditions and authorization
// configuration.

import type {Steps} from '#src/base/steps.js';
import {checked, isCompileError, program, type Program} from '#src/cel/compile.js';
import {resultType} from '#src/cel/check/check.js';
import {extend, type Environment} from '#src/cel/check/environment.js';
import {bool, dyn, listOf, mapOf, nullType, objectType, string, type Type} from '#src/cel/values/types.js';
import {admissionTypes, namespaceType, requestType} from './admission-types.js';
import {authorizerType, resourceCheckType} from './authorizer.js';
import {newExpressions, storedExpressions, withLibrary} from './environment.js';
import {appliedType, jsonPatches, jsonPatchType, patchTypes} from './patches.js';

/**
 * The variables that an admission expression may use besides `object`, `oldObject`, `request` and `namespaceObject`.
 */
export interface AdmissionOptions {
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** Whether the expression produces a mutation and may use the patch types. */
  readonly writesPatches?: boolean;
}

/**
 * Whether an expression is being written now or was stored earlier. Stored expressions may use libraries of any
 * release.
 */
export type ExpressionAge = 'new' | 'stored';

const made = new Map<string, Environment>();

/** Returns the environment of an admission expression. Environments are cached. */
export const admissionEnvironment = (
  {hasParams, hasAuthorizer, writesPatches = false}: AdmissionOptions,
  age: ExpressionAge,
): Environment => {
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

/** Result types by the purpose of the expression. Variables may have any type. */
export const resultTypes = {
  condition: [bool],
  message: [string],
  annotation: [string, nullType],
  jsonPatch: [listOf(jsonPatchType)],
  applied: [appliedType],
  variable: [],
} satisfies Readonly<Record<string, readonly Type[]>>;

/** Formats a type in messages about result types. */
const declared = ({name, params}: Type): string => (params.length === 0 ? name : `${name}(${params.map(declared).join(', ')})`);

/** A program or a compilation problem. `isInternal` is set where planning failed. */
export type Compiled = Program | {readonly problem: string; readonly isInternal?: true};

/**
 * Compiles an admission expression that must have one of the expected types, in steps. Problems are worded as upstream
 * words them.
 */
export const compileAdmission = function* (environment: Environment, text: string, expected: readonly Type[]): Steps<Compiled> {
  const ast = yield* checked(environment, text);
  if (!('types' in ast)) return {problem: `compilation failed: ${ast.message}`};
  const type = resultType(ast);
  if (expected.length > 0 && !expected.some(one => one.text === type.text)) {
    const wanted = expected.map(declared);
    return {problem: `must evaluate to ${wanted.length === 1 ? wanted[0] : `one of [${wanted.join(' ')}]`} but got ${declared(type)}`};
  }
  const made = yield* program(ast);
  return isCompileError(made) ? {problem: `program instantiation failed: ${made.message}`, isInternal: true} : made;
};

export const isProblem = (compiled: Program | {readonly problem: string}): compiled is {readonly problem: string} => 'problem' in compiled;

/** Returns the type of a variable as other expressions see it: object types become `dyn`. */
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

/** The variables of a policy. Each has the type of its expression for all expressions after it. */
export class Composition {
  readonly #fields = new Map<string, Type>();
  readonly #environments = new Map<Environment, Environment>();

  /** Returns the environment extended by the variables added so far. */
  environmentFor(environment: Environment): Environment {
    const known = this.#environments.get(environment);
    if (known) return known;
    const types = {
      find: (name: string) => (name === variablesType.name ? variablesType : undefined),
      field: (_: string, field: string) => this.#fields.get(field),
    };
    const whole = extend(environment, {types, variables: {variables: variablesType}, computed: {name: 'variables', type: variablesType}});
    this.#environments.set(environment, whole);
    return whole;
  }

  /** Adds a variable. A variable whose expression does not compile has type `dyn`. */
  add(name: string, compiled: {readonly type: Type} | {readonly problem: string}): void {
    this.#fields.set(name, 'problem' in compiled ? dyn : erasedType(compiled.type));
  }
}
