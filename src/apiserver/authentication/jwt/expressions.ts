// The CEL expressions of an AuthenticationConfiguration: over the claims of a token, and over the user that they are
// mapped to.

import type {Steps} from '#src/base/steps.js';
import {checked, isCompileError, program, type Bindings, type Program} from '#src/cel/compile.js';
import {resultType} from '#src/cel/check/check.js';
import {extend, type Environment} from '#src/cel/check/environment.js';
import {admissionTypes} from '#src/cel/kubernetes/admission-types.js';
import {storedExpressions} from '#src/cel/kubernetes/environment.js';
import type {Expr} from '#src/cel/syntax/ast.js';
import {EvaluationSteps} from '#src/cel/run/evaluation-steps.js';
import {nodes} from '#src/cel/syntax/walk.js';
import {bool, dyn, mapOf, objectType, string, type Type} from '#src/cel/values/types.js';
import {ListValue, type Failure, type Value} from '#src/cel/values/values.js';

/** The variable of an expression. */
export type Subject = 'claims' | 'user';

const environments: Readonly<Record<Subject, Environment>> = {
  claims: extend(storedExpressions, {variables: {claims: mapOf(string, dyn)}}),
  user: extend(storedExpressions, {types: admissionTypes, variables: {user: objectType('kubernetes.UserInfo')}}),
};

/** A compiled expression with its text. */
export interface Expression {
  readonly text: string;
  readonly program: Program;
}

/**
 * Compiles an expression, in steps; a rule must be a bool, a mapping may have any type. Problems are worded as upstream
 * words them.
 */
export const compileExpression = function* (
  subject: Subject,
  text: string,
  purpose: 'rule' | 'mapping',
): Steps<Expression | {readonly problem: string}> {
  const ast = yield* checked(environments[subject], text);
  if (!('types' in ast)) return {problem: `compilation failed: ${ast.message}`};
  const type: Type = resultType(ast);
  if (purpose === 'rule' && type.text !== bool.text) return {problem: `must evaluate to ${bool.text}`};
  const made = yield* program(ast);
  return isCompileError(made) ? {problem: `program instantiation failed: ${made.message}`} : {text, program: made};
};

const isClaims = (expr: Expr | undefined): boolean => expr?.kind === 'ident' && expr.name === 'claims';

/** Whether an expression selects a claim by name: `claims.name`, `has(claims.name)` or `claims.?name`. */
export const usesClaim = ({program: {ast}}: Expression, name: string): boolean => {
  for (const node of nodes(ast.root)) {
    if (node.kind === 'select' && node.field === name && isClaims(node.operand)) return true;
    if (node.kind !== 'call' || node.function !== '_?._' || node.target) continue;
    const [operand, field] = node.args;
    if (isClaims(operand) && field?.kind === 'literal' && field.value === name) return true;
  }
  return false;
};

/** Evaluates an expression within the cost limit of one call, in steps. Throws with upstream's message. */
export const valueOf = function* (
  {text, program: compiled}: Expression,
  bindings: Bindings,
  steps = new EvaluationSteps(),
): Steps<Exclude<Value, Failure>> {
  const outcome = yield* compiled.evaluateInSteps(bindings);
  if (steps.add(outcome.cost)) yield;
  if ('error' in outcome) throw new Error(`expression '${text}' resulted in error: ${outcome.error}`);
  return outcome.value;
};

/** Returns the texts of a text, a list of texts or null, without empty ones. Throws for other values. */
export const textsOf = (value: Value): string[] => {
  if (value === null) return [];
  const items = typeof value === 'string' ? [value] : value instanceof ListValue ? [...value] : undefined;
  if (!items?.every(item => typeof item === 'string')) throw new Error('expression must return a string or a list of strings');
  return items.filter(item => item !== '');
};

/** Throws for the first rule that does not hold. */
export const checkRules = function* (rules: readonly (Expression & {readonly message: string})[], bindings: Bindings): Steps<void> {
  const steps = new EvaluationSteps();
  for (const rule of rules) {
    const value = yield* valueOf(rule, bindings, steps);
    if (typeof value !== 'boolean') throw new Error('validation expression must return a boolean');
    if (!value) throw new Error(`validation expression '${rule.text}' failed: ${rule.message}`);
  }
};
