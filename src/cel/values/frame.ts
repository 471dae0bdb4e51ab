import type {Value} from './values.js';

/** The state of one evaluation. */
export interface Frame {
  /** The cost so far. */
  cost: number;
  readonly limit: number;
  /** Comprehension variables by the slot that the planner assigned. */
  readonly locals: (Value | undefined)[];
  /** Variables resolved so far, by index. */
  readonly variables: (Value | undefined)[];
  /** Resolves the variable at this index of the plan's variables. */
  readonly resolve: (index: number) => Value;
}

/** One step of a program: evaluates a node in a frame. */
export type Step = (frame: Frame) => Value;

/** Thrown when an evaluation exceeds its cost limit. */
export class CostLimitExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/** Adds to the cost of the evaluation. Throws `CostLimitExceeded` beyond the limit. */
export const charge = (frame: Frame, cost: number): void => {
  frame.cost += cost;
  if (frame.cost > frame.limit) throw new CostLimitExceeded();
};
