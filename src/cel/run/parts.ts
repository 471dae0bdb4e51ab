import type {Evaluation, Frame, Step} from '#src/cel/values/frame.js';
import type {Value} from '#src/cel/values/values.js';
import {workSoFar} from '#src/cel/values/work.js';

/** Assigns places in the frame of an evaluation. */
export class Slots {
  #count = 0;

  next(): number {
    return this.#count++;
  }
}

const goesOn = (): boolean => false;

/** Returns the step of a part that was evaluated in steps: its value is in the slot, and is used once. */
const given =
  (step: Step, slot: number): Step =>
  frame => {
    const value = frame.locals[slot];
    if (value === undefined) return step(frame);
    frame.locals[slot] = undefined;
    return value;
  };

/**
 * Returns the evaluation of an operation that evaluates its parts first, in their order. `make` returns the operation's
 * step from those of the parts; `stops` says after which value the operation evaluates no further part.
 */
export const ofParts = (
  parts: readonly Evaluation[],
  slots: Slots,
  make: (steps: readonly Step[]) => Step,
  stops: (value: Value, index: number) => boolean = goesOn,
): Evaluation => {
  if (!parts.some(({long}) => long)) return {step: make(parts.map(({step}) => step))};
  const at = parts.map(() => slots.next());
  const step = make(parts.map((part, index) => given(part.step, at[index]!)));
  return {
    step,
    *long(frame) {
      for (const [index, part] of parts.entries()) {
        const value: Value = part.long ? yield* part.long(frame) : part.step(frame);
        frame.locals[at[index]!] = value;
        if (stops(value, index)) break;
      }
      return step(frame);
    },
  };
};

/** So much is done in one step: a fraction of a millisecond. */
const costOfStep = 1000;
const passesOfStep = 64;
const workOfStep = 10_000;

/** Counts a pass of a loop. Returns whether it is time for a step. */
export const isStepDue = (frame: Frame): boolean => {
  frame.passes += 1;
  if (frame.passes < passesOfStep && frame.cost - frame.costAtStep < costOfStep && workSoFar() < workOfStep) return false;
  frame.passes = 0;
  frame.costAtStep = frame.cost;
  return true;
};
