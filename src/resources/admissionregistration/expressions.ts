import type {Findings} from '#src/api/collect-errors.js';
import {duplicate, internalFieldError, invalid, required, tooMany} from '#src/api/field-error.js';
import {labelKeyProblems} from '#src/api/names.js';
import {reservedWords} from '#src/schema/reserved-words.js';
import type {ExpressionUse} from './expression-validator.js';
import type {MatchCondition, Variable} from './types.js';

// Validates the CEL expressions of policies and webhooks. CEL is loaded on demand: hooks first call
// `loadExpressionValidator`, then validate synchronously. Expressions of the stored object are compiled in the wider
// environment, so that newer rules never break them.

const maxConditions = 64;

/** Validates a CEL expression. `shown` is the value in errors, by default the expression. */
export type ValidateExpression = (expression: string, path: string, use: ExpressionUse, shown?: string) => Findings;

type ValidatorModule = typeof import('./expression-validator.js');

/** Loaded with the first expression: CEL is large. */
let validatorModule: ValidatorModule | undefined;

/** Loads the validator if there are expressions; returns undefined if nothing has to be loaded. */
export const loadExpressionValidator = (hasExpressions: boolean): Promise<void> | undefined => {
  if (validatorModule || !hasExpressions) return undefined;
  return import('./expression-validator.js').then(module => {
    validatorModule = module;
  });
};

/**
 * Returns the validation for the expressions of one object, in their order. Call it only after
 * `loadExpressionValidator` has resolved.
 */
export const validateExpressions = (hasVariables: boolean): ValidateExpression => {
  let validator: ReturnType<ValidatorModule['expressionValidator']> | undefined;
  return function* (expression, path, use, shown = expression) {
    if (!validatorModule) throw new Error('call loadExpressionValidator first');
    validator ??= validatorModule.expressionValidator(hasVariables);
    const problem = yield* validator(expression, use);
    yield;
    if (problem) yield problem.isInternal ? internalFieldError(path, problem.problem) : invalid(path, shown, problem.problem);
  };
};

/** Returns the texts of stored expressions. */
export const textsOf = (expressions: readonly (string | undefined)[]): ReadonlySet<string> =>
  new Set(expressions.flatMap(text => (text ? [text] : [])));

/** Validates that each match condition has a unique name and an expression. */
export function* validateMatchConditions(
  conditions: readonly MatchCondition[] | undefined,
  path: string,
  {
    hasParams,
    before,
    validateExpression,
  }: {readonly hasParams: boolean; readonly before: readonly MatchCondition[]; readonly validateExpression: ValidateExpression},
): Findings {
  const list = conditions ?? [];
  if (list.length > maxConditions) yield tooMany(path, list.length, maxConditions);
  const stored = textsOf(before.map(({expression}) => expression));
  const seen = new Set<string>();
  for (const [i, {name, expression}] of list.entries()) {
    const text = (expression ?? '').trim();
    if (text === '') yield required(`${path}[${i}].expression`);
    else
      yield* validateExpression(text, `${path}[${i}].expression`, {
        yields: 'condition',
        hasParams,
        hasAuthorizer: true,
        isStored: stored.has(text),
        variable: 'none',
      });
    if (!name) {
      yield required(`${path}[${i}].name`);
      continue;
    }
    for (const problem of labelKeyProblems(name)) yield invalid(`${path}[${i}].name`, name, problem);
    if (seen.has(name)) yield duplicate(`${path}[${i}].name`, name);
    seen.add(name);
  }
}

const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reservedWords.has(name);

/**
 * Validates that each variable has a name usable in expressions, and an expression. `stored` are the expressions of the
 * stored object.
 */
export function* validateVariables(
  variables: readonly Variable[] | undefined,
  path: string,
  {
    hasParams,
    stored,
    validateExpression,
  }: {readonly hasParams: boolean; readonly stored: ReadonlySet<string>; readonly validateExpression: ValidateExpression},
): Findings {
  for (const [i, {name, expression}] of (variables ?? []).entries()) {
    const at = `${path}[${i}]`;
    if (!name?.trim()) yield required(`${at}.name`, 'name is not specified');
    else if (!isIdentifier(name)) yield invalid(`${at}.name`, name, 'must be a valid CEL identifier');
    if (!expression?.trim()) yield required(`${at}.expression`, 'expression is not specified');
    else
      yield* validateExpression(expression, `${at}.expression`, {
        yields: 'variable',
        hasParams,
        hasAuthorizer: true,
        isStored: stored.has(expression),
        variable: name ?? '',
      });
  }
}
