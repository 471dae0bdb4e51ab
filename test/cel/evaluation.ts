import {deepStrictEqual} from 'node:assert';
import {runSteps} from '#src/base/steps.js';
import type {CheckedAst} from '#src/cel/check/check.js';
import type {Environment} from '#src/cel/check/environment.js';
import {checked, compile, type Bindings, type CompileError, type Outcome, type Program} from '#src/cel/compile.js';
import {evaluateOnlyInSteps} from '#src/cel/run/evaluate.js';
import {plan} from '#src/cel/run/plan.js';
import type {Type} from '#src/cel/values/types.js';

/** Compiles an expression at once. */
export const compiled = (environment: Environment, text: string, ...expected: readonly Type[]): Program | CompileError =>
  runSteps(compile(environment, text, ...expected));

/** Checks an expression at once. */
export const checkedNow = (environment: Environment, text: string): CheckedAst | CompileError => runSteps(checked(environment, text));

/** Evaluates a program at once, and checks that it comes to the same, at the same cost, in steps. */
export const evaluated = ({ast, evaluate}: Program, bindings: Bindings, budget = 1_000_000): Outcome => {
  const outcome = evaluate(bindings, budget);
  deepStrictEqual(runSteps(evaluateOnlyInSteps(runSteps(plan(ast)), bindings, budget)), outcome, ast.text);
  return outcome;
};
