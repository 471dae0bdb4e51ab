import {StepCount} from '#src/base/steps.js';

/** The cost of several short expressions that are evaluated in one step, where each counts in addition. */
const costOfStep = 1000;
const expressionCost = 20;

/** Counts expressions that are evaluated one after another, each at once or in steps of its own. */
export class EvaluationSteps {
  readonly #steps = new StepCount(costOfStep);

  /** Counts the cost of an expression. Returns whether it is time for a step. */
  add(cost: number): boolean {
    return this.#steps.add(expressionCost + cost);
  }
}
