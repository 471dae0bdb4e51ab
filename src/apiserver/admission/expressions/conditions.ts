import type {Steps} from '#src/base/steps.js';
import {OutOfBudget, type Ready, type Run} from './run.js';

/** The cost limit of all match conditions of one webhook or policy together. */
export const budgetOfConditions = 2_500_000;

/** A compiled condition. */
export interface ReadyCondition {
  readonly expression: string;
  readonly ready: Ready;
}

/** The result of match conditions. */
export interface ConditionsResult {
  /** Whether one of them is false. */
  readonly isFalse: boolean;
  /** The errors of failed evaluations. */
  readonly errors: readonly string[];
  /** Whether the cost limit was exceeded: an error that is not counted as one of a condition. */
  readonly isOutOfBudget?: true;
}

/** Evaluates conditions, in steps, within their common cost limit. */
export const evaluateConditions = function* (conditions: readonly ReadyCondition[], run: Run): Steps<ConditionsResult> {
  const errors: string[] = [];
  let isFalse = false;
  try {
    for (const {expression, ready} of conditions) {
      const result = yield* run.evaluate(expression, ready);
      if ('error' in result) errors.push(result.error);
      else if (result.value === false) isFalse = true;
    }
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return {isFalse: false, errors: [error.message], isOutOfBudget: true};
  }
  return {isFalse, errors};
};
