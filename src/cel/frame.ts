import type {Value} from './values.js';

/** What one evaluation has in hand. */
export interface Frame {
  /** What was spent so far. */
  cost: number;
  readonly limit: number;
  /** The variables of folds, each at the place its plan gave it. */
  readonly locals: (Value | undefined)[];
  /** The variables that were asked for so far. */
  readonly variables: (Value | undefined)[];
  /** Finds the variable at that place of the plan's list. */
  readonly resolve: (index: number) => Value;
}

/** One step of an evaluation. */
export type Step = (frame: Frame) => Value;

/** Thrown where an evaluation would cost more than it may. */
export class CostLimitExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/** Spends. */
export const charge = (frame: Frame, cost: number): void => {
  frame.cost += cost;
  if (frame.cost > frame.limit) throw new CostLimitExceeded();
};
