import {duplicate, internalFieldError, invalid, required, tooMany, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {ExpressionUse} from './expression-judge.js';
import type {MatchCondition, Variable} from './types.js';

const mostConditions = 64;

/** Judges an expression of the expression language. `shown` is what errors show for it, where that is not itself. */
export type ValidateExpression = (expression: string, path: string, use: ExpressionUse, shown?: string) => Iterable<FieldError>;

type Judging = typeof import('./expression-judge.js');

/** The language is large; it is loaded with the first expression. */
let judging: Judging | undefined;

/** Loads what judges expressions, where there are any; nothing where all is there. */
export const readyToJudge = (hasExpressions: boolean): Promise<void> | undefined => {
  if (judging || !hasExpressions) return undefined;
  return import('./expression-judge.js').then(module => {
    judging = module;
  });
};

/** Judges the expressions of one object, in their order. To be called once `readyToJudge` is through. */
export const validateExpressions = (hasVariables: boolean): ValidateExpression => {
  let judge: ReturnType<Judging['judge']> | undefined;
  return function* (expression, path, use, shown = expression) {
    if (!judging) throw new Error('an expression came before what judges it');
    judge ??= judging.judge(hasVariables);
    const objection = judge(expression, use);
    if (objection) yield objection.isInternal ? internalFieldError(path, objection.problem) : invalid(path, shown, objection.problem);
  };
};

/** The texts of expressions that were stored before. */
export const textsOf = (expressions: readonly (string | undefined)[]): ReadonlySet<string> => new Set(expressions.flatMap(text => (text ? [text] : [])));

/** Whether each condition has a name of its own and an expression. */
export function* validateMatchConditions(
  conditions: readonly MatchCondition[] | undefined,
  path: string,
  {hasParams, before, validateExpression}: {readonly hasParams: boolean; readonly before: readonly MatchCondition[]; readonly validateExpression: ValidateExpression},
): Iterable<FieldError> {
  const list = conditions ?? [];
  if (list.length > mostConditions) yield tooMany(path, list.length, mostConditions);
  const stored = textsOf(before.map(({expression}) => expression));
  const seen = new Set<string>();
  for (const [i, {name, expression}] of list.entries()) {
    const text = (expression ?? '').trim();
    if (text === '') yield required(`${path}[${i}].expression`);
    else yield* validateExpression(text, `${path}[${i}].expression`, {yields: 'condition', hasParams, hasAuthorizer: true, wasThere: stored.has(text), variable: 'none'});
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

/** Whether each variable has a name that expressions can use, and an expression. `stored` are the expressions that were there before. */
export function* validateVariables(
  variables: readonly Variable[] | undefined,
  path: string,
  {hasParams, stored, validateExpression}: {readonly hasParams: boolean; readonly stored: ReadonlySet<string>; readonly validateExpression: ValidateExpression},
): Iterable<FieldError> {
  for (const [i, {name, expression}] of (variables ?? []).entries()) {
    const at = `${path}[${i}]`;
    if (!name?.trim()) yield required(`${at}.name`, 'name is not specified');
    else if (!isIdentifier(name)) yield invalid(`${at}.name`, name, 'must be a valid CEL identifier');
    if (!expression?.trim()) yield required(`${at}.expression`, 'expression is not specified');
    else yield* validateExpression(expression, `${at}.expression`, {yields: 'variable', hasParams, hasAuthorizer: true, wasThere: stored.has(expression), variable: name ?? ''});
  }
}
