import {duplicate, invalid, required, tooMany, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {MatchCondition, Variable} from './types.js';

const mostConditions = 64;

/** What an expression is for, which decides what it may look at and what it must come to. */
export interface ExpressionUse {
  readonly yields: 'bool' | 'string' | 'stringOrNull' | 'anything' | 'object' | 'patch';
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
}

/** Judges an expression of the expression language. Nothing judges them unless one is given: what is not an expression is found when it is run. */
export type ValidateExpression = (expression: string, path: string, use: ExpressionUse) => Iterable<FieldError>;

export const unjudged: ValidateExpression = () => [];

/** Whether each condition has a name of its own and an expression. */
export function* validateMatchConditions(
  conditions: readonly MatchCondition[] | undefined,
  path: string,
  hasParams: boolean,
  validateExpression: ValidateExpression,
): Iterable<FieldError> {
  const list = conditions ?? [];
  if (list.length > mostConditions) yield tooMany(path, list.length, mostConditions);
  const seen = new Set<string>();
  for (const [i, {name, expression}] of list.entries()) {
    const text = (expression ?? '').trim();
    if (text === '') yield required(`${path}[${i}].expression`);
    else yield* validateExpression(text, `${path}[${i}].expression`, {yields: 'bool', hasParams, hasAuthorizer: true});
    if (!name) {
      yield required(`${path}[${i}].name`);
      continue;
    }
    for (const problem of labelKeyProblems(name)) yield invalid(`${path}[${i}].name`, name, problem);
    if (seen.has(name)) yield duplicate(`${path}[${i}].name`, name);
    seen.add(name);
  }
}

/** Words of the language that cannot be names in it. */
const reserved = new Set(
  ['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while'],
);

const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name);

/** Whether each variable has a name that expressions can use, and an expression. */
export function* validateVariables(variables: readonly Variable[] | undefined, path: string, hasParams: boolean, validateExpression: ValidateExpression): Iterable<FieldError> {
  for (const [i, {name, expression}] of (variables ?? []).entries()) {
    const at = `${path}[${i}]`;
    if (!name?.trim()) yield required(`${at}.name`, 'name is not specified');
    else if (!isIdentifier(name)) yield invalid(`${at}.name`, name, 'must be a valid CEL identifier');
    if (!expression?.trim()) yield required(`${at}.expression`, 'expression is not specified');
    else yield* validateExpression(expression, `${at}.expression`, {yields: 'anything', hasParams, hasAuthorizer: true});
  }
}
