// Evaluates planned expressions within their cost limit, at once or in steps. What takes long is evaluated in steps: an
// evaluation is tried at once with a part of its limit, and begun again in steps if that does not suffice.

import type {Steps} from '#src/base/steps.js';
import {CostLimitExceeded, newFrame, type Frame} from '#src/cel/values/frame.js';
import {fromJson} from '#src/cel/values/native.js';
import {Failure, type Value} from '#src/cel/values/values.js';
import {Work, working} from '#src/cel/values/work.js';
import type {Plan} from './plan.js';

/** A variable that is computed on first use, at most once per evaluation. */
export class Lazy {
  readonly find: () => unknown;

  constructor(find: () => unknown) {
    this.find = find;
  }
}

/** The variables of one evaluation by name: CEL values, plain JSON, or `Lazy` values. */
export type Bindings = Readonly<Record<string, unknown>>;

/** The result of an evaluation, and its cost. */
export type Outcome =
  | {readonly value: Exclude<Value, Failure>; readonly cost: number}
  | {
      readonly error: string;
      readonly cost: number;
      /** The evaluation was stopped because its cost exceeded the limit. */ readonly isCostLimitExceeded?: true;
    };

const bindingValue = (bindings: Bindings, name: string): Value => {
  if (!Object.hasOwn(bindings, name)) return new Failure(`no such attribute(s): ${name}`);
  const given = bindings[name];
  return fromJson(given instanceof Lazy ? given.find() : given);
};

const frameOf = ({variables}: Plan, bindings: Bindings, limit: number): Frame => {
  const frame = newFrame(limit, index => (frame.variables[index] = bindingValue(bindings, variables[index]!)));
  return frame;
};

const outcomeOf = (value: Value, {cost}: Frame): Outcome => (value instanceof Failure ? {error: value.message, cost} : {value, cost});

const stopped = (error: unknown, {cost}: Frame): Outcome => {
  if (error instanceof CostLimitExceeded) return {error: error.message, cost, isCostLimitExceeded: true};
  throw error;
};

/**
 * The elements that operations may compare or copy in one step, or in an evaluation at once, beyond their cost: some 40
 * ms.
 */
const mostWork = 2_000_000;

/** What an evaluation may cost, and how much it may do beyond its cost, while it is tried at once: some 0.2 ms. */
const costAtOnce = 5000;
const workAtOnce = 20_000;

/** An evaluation that is tried at once, with those of the variables that it uses. */
interface Attempt {
  left: number;
}

let attempt: Attempt | undefined;

/** Thrown by a variable's evaluation in an attempt that it is too long for. */
class TakesLong extends Error {}

/** Evaluates a plan at once. */
export const evaluate = (plan: Plan, bindings: Bindings, budget: number): Outcome => {
  if (!attempt) return working(new Work(mostWork), () => run(plan, frameOf(plan, bindings, budget)));
  const outcome = run(plan, frameOf(plan, bindings, Math.min(budget, attempt.left)));
  if ('isCostLimitExceeded' in outcome && attempt.left < budget) throw new TakesLong();
  attempt.left -= outcome.cost;
  return outcome;
};

const run = ({step}: Plan, frame: Frame): Outcome => {
  try {
    return outcomeOf(step(frame), frame);
  } catch (error) {
    return stopped(error, frame);
  }
};

/** Evaluates a plan at once if it is short, and otherwise in steps. */
export const evaluateInSteps = function* (plan: Plan, bindings: Bindings, budget: number): Steps<Outcome> {
  return (
    (plan.long ? tried(plan, bindings, budget) : evaluate(plan, bindings, budget)) ?? (yield* evaluateOnlyInSteps(plan, bindings, budget))
  );
};

const tried = (plan: Plan, bindings: Bindings, budget: number): Outcome | undefined => {
  const before = attempt;
  attempt = {left: costAtOnce};
  try {
    const outcome = working(new Work(workAtOnce), () => run(plan, frameOf(plan, bindings, Math.min(budget, costAtOnce))));
    return 'isCostLimitExceeded' in outcome ? undefined : outcome;
  } catch (error) {
    if (error instanceof TakesLong) return undefined;
    throw error;
  } finally {
    attempt = before;
  }
};

/** Evaluates a plan in steps, however short it is. */
export const evaluateOnlyInSteps = function* (plan: Plan, bindings: Bindings, budget: number): Steps<Outcome> {
  if (!plan.long) return evaluate(plan, bindings, budget);
  const frame = frameOf(plan, bindings, budget);
  const work = new Work(mostWork);
  const evaluation = plan.long(frame);
  const goOn = () => evaluation.next();
  try {
    for (;;) {
      const {done, value} = working(work, goOn);
      if (done) return outcomeOf(value, frame);
      work.done = 0;
      yield;
    }
  } catch (error) {
    return stopped(error, frame);
  }
};
