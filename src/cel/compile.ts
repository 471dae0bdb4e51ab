// Compiles and runs CEL expressions. An expression is parsed (parse.ts), type-checked (check.ts), checked for invalid
// literals (literal-problems.ts) and planned (plan.ts) once; the resulting program is evaluated any number of times,
// each time within a cost limit. Errors of the user's expression are returned as values and never thrown.

import {check, resultType, type CheckedAst} from '#src/cel/check/check.js';
import type {Environment} from '#src/cel/check/environment.js';
import {literalProblems} from './literal-problems.js';
import {syntaxProblems} from '#src/cel/error-texts/syntax-problems.js';
import {isParseError, parse} from '#src/cel/syntax/parse.js';
import {evaluate, evaluateInSteps, type Bindings, type Outcome} from '#src/cel/run/evaluate.js';
import {plan, PlanError} from '#src/cel/run/plan.js';
import {formatProblems, type Problem} from '#src/cel/values/problem.js';
import type {Type} from '#src/cel/values/types.js';
import type {Steps} from '#src/base/steps.js';

export {Lazy, type Bindings, type Outcome} from '#src/cel/run/evaluate.js';

/** Why an expression cannot be compiled. */
export interface CompileError {
  /**
   * `invalid`: a syntax or type error. `result`: not one of the expected result types. `constant`: a constant
   * subexpression fails.
   */
  readonly reason: 'invalid' | 'result' | 'constant';
  /** All problems, formatted as upstream formats them. */
  readonly message: string;
  readonly problems: readonly Problem[];
}

/** A compiled expression, which can be evaluated any number of times. */
export interface Program {
  readonly ast: CheckedAst;
  /** The result type. */
  readonly type: Type;
  /** Evaluates the program at once. An evaluation whose cost exceeds the budget is stopped. */
  readonly evaluate: (bindings: Bindings, budget?: number) => Outcome;
  /**
   * As `evaluate`, in steps if it takes long: each is a fraction of a millisecond. What is bound must not change
   * meanwhile.
   */
  readonly evaluateInSteps: (bindings: Bindings, budget?: number) => Steps<Outcome>;
}

/** The default cost limit of one evaluation, as upstream's. */
const perCallLimit = 1_000_000;

const invalid = (text: string, problems: readonly Problem[]): CompileError => ({
  reason: 'invalid',
  message: formatProblems(text, problems),
  problems,
});

/** Parses and type-checks an expression without planning it, in steps. */
export const checked = function* (environment: Environment, text: string): Steps<CheckedAst | CompileError> {
  const parsed = yield* parse(text, environment.syntax);
  if (isParseError(parsed)) {
    const {problems, mismatch} = parsed;
    return invalid(text, mismatch ? [...syntaxProblems(text, mismatch), ...problems] : problems);
  }
  const ast = yield* check(parsed, environment);
  const problems = 'types' in ast ? (environment.validatesLiterals ? yield* literalProblems(ast) : []) : ast;
  return 'types' in ast && problems.length === 0 ? ast : invalid(text, problems);
};

/** Plans a checked expression, in steps. */
export const program = function* (ast: CheckedAst): Steps<Program | CompileError> {
  try {
    const made = yield* plan(ast);
    return {
      ast,
      type: resultType(ast),
      evaluate: (bindings, budget = perCallLimit) => evaluate(made, bindings, budget),
      evaluateInSteps: (bindings, budget = perCallLimit) => evaluateInSteps(made, bindings, budget),
    };
  } catch (error) {
    if (error instanceof PlanError) return {reason: 'constant', message: error.message, problems: []};
    throw error;
  }
};

const resultTypeMessage = (expected: readonly Type[]): string => {
  const names = expected.map(({text}) => text);
  return names.length === 1 ? `must evaluate to ${names[0]}` : `must evaluate to one of [${names.join(' ')}]`;
};

/**
 * Compiles an expression, in steps. When result types are expected, the expression must have one of them; `dyn` accepts
 * any.
 */
export const compile = function* (environment: Environment, text: string, ...expected: readonly Type[]): Steps<Program | CompileError> {
  const ast = yield* checked(environment, text);
  if (!('types' in ast)) return ast;
  const type = resultType(ast);
  if (expected.length > 0 && !expected.some(one => one.kind === 'dyn' || one.text === type.text))
    return {reason: 'result', message: resultTypeMessage(expected), problems: []};
  return yield* program(ast);
};

export const isCompileError = (compiled: Program | CompileError): compiled is CompileError => 'reason' in compiled;
