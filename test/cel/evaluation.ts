import {deepStrictEqual} from 'node:assert';
import {runSteps} from '#src/base/steps.js';
import type {Bindings, Outcome, Program} from '#src/cel/compile.js';
import {evaluateOnlyInSteps} from '#src/cel/run/evaluate.js';
import {plan} from '#src/cel/run/plan.js';

/** Evaluates a program at once, and checks that it comes to the same, at the same cost, in steps. */
export const evaluated = ({ast, evaluate}: Program, bindings: Bindings, budget = 1_000_000): Outcome => {
  const outcome = evaluate(bindings, budget);
  deepStrictEqual(runSteps(evaluateOnlyInSteps(plan(ast), bindings, budget)), outcome, ast.text);
  return outcome;
};
