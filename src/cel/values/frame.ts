import type {Steps} from '#src/base/steps.js';
import type {Value} from './values.js';

/** The state of one evaluation. */
export interface Frame {
  /** The cost so far. */
  cost: number;
  readonly limit: number;
  /** The cost at the last step, and the passes of loops since then. */
  costAtStep: number;
  passes: number;
  /**
   * Variables of comprehensions, and values that were evaluated in steps until they are used, by the slot that the
   * planner assigned.
   */
  readonly locals: (Value | undefined)[];
  /** Variables resolved so far, by index. */
  readonly variables: (Value | undefined)[];
  /** Resolves the variable at this index of the plan's variables. */
  readonly resolve: (index: number) => Value;
}

/** One step of a program: evaluates a node in a frame. */
export type Step = (frame: Frame) => Value;

/** The same in steps of the event loop's turns, for a node that may take long. */
export type LongStep = (frame: Frame) => Steps<Value>;

/** How a node is evaluated. */
export interface Evaluation {
  readonly step: Step;
  /** Absent for a node that contains no loop. */
  readonly long?: LongStep | undefined;
}

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

/** Returns the frame of an evaluation that begins. */
export const newFrame = (limit: number, resolve: Frame['resolve']): Frame => ({
  cost: 0,
  limit,
  costAtStep: 0,
  passes: 0,
  locals: [],
  variables: [],
  resolve,
});
