import {OutOfBudget, type Ready, type Run} from './run.js';

/** What all conditions of one webhook or policy together may cost. */
export const budgetOfConditions = 2_500_000;

/** A condition, compiled. */
export interface ReadyCondition {
  readonly expression: string;
  readonly ready: Ready;
}

/** What came of conditions. */
export interface ConditionsResult {
  /** Whether one of them is false. */
  readonly isFalse: boolean;
  /** Why others could not be judged. */
  readonly errors: readonly string[];
  /** Whether they could not all be judged since they cost too much: that is an error that is not counted as one of a condition. */
  readonly isOutOfBudget?: true;
}

/** Judges conditions, all of them as long as they cost no more than they may together. */
export const evaluateConditions = (conditions: readonly ReadyCondition[], run: Run): ConditionsResult => {
  const errors: string[] = [];
  let isFalse = false;
  try {
    for (const {expression, ready} of conditions) {
      const result = run.evaluate(expression, ready);
      if ('error' in result) errors.push(result.error);
      else if (result.value === false) isFalse = true;
    }
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return {isFalse: false, errors: [error.message], isOutOfBudget: true};
  }
  return {isFalse, errors};
};
