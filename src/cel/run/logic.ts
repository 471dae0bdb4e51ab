import type {Steps} from '#src/base/steps.js';
import {evaluationOf, type Node} from './attributes.js';
import {ofParts, type Slots} from './parts.js';
import {equal} from '#src/cel/values/compare.js';
import {traversal} from '#src/cel/values/costs.js';
import {charge, type Evaluation, type Frame, type Step} from '#src/cel/values/frame.js';
import {Failure, keyOf, ListValue, noSuchOverload, OpaqueValue, sizeOf, type Value} from '#src/cel/values/values.js';

/**
 * `value in [constants]` as a set lookup, free of charge. Returns undefined where the list contains values that are not
 * scalar.
 */
export const membership = (sought: Node, list: Node, slots: Slots): Node | undefined => {
  if (!('constant' in list) || !(list.constant instanceof ListValue)) return undefined;
  if (list.constant.size === 0) return {constant: false};
  const keys = [...list.constant].map(keyOf);
  if (keys.includes(undefined)) return undefined;
  const set: ReadonlySet<unknown> = new Set(keys);
  return ofParts([evaluationOf(sought)], slots, ([step]) => frame => {
    const value = step!(frame);
    if (value instanceof Failure) return value;
    const key = keyOf(value);
    return key !== undefined && set.has(key);
  });
};

/** `a && b` and `a || b`: an operand that decides does so even if the other fails. */
const logical = (left: Evaluation, right: Evaluation, deciding: boolean): Evaluation => {
  const neither = (first: Value, second: Value): Value => {
    if (first === !deciding && second === !deciding) return !deciding;
    const other = first === !deciding ? second : first;
    return other instanceof Failure ? other : noSuchOverload;
  };
  const step: Step = frame => {
    const first = left.step(frame);
    if (first === deciding) return deciding;
    const second = right.step(frame);
    return second === deciding ? deciding : neither(first, second);
  };
  if (!left.long && !right.long) return {step};
  const long = function* (frame: Frame): Steps<Value> {
    const first = left.long ? yield* left.long(frame) : left.step(frame);
    if (first === deciding) return deciding;
    const second = right.long ? yield* right.long(frame) : right.step(frame);
    return second === deciding ? deciding : neither(first, second);
  };
  return {step, long};
};

/** `a && b`: false if either operand is false, even if the other fails. */
export const logicalAnd = (left: Evaluation, right: Evaluation): Evaluation => logical(left, right, false);

/** `a || b`: true if either operand is true, even if the other fails. */
export const logicalOr = (left: Evaluation, right: Evaluation): Evaluation => logical(left, right, true);

/** `a == b` and `a != b`. */
export const comparison = (left: Evaluation, right: Evaluation, isNegated: boolean, slots: Slots): Evaluation =>
  ofParts([left, right], slots, ([leftStep, rightStep]) => frame => {
    const first = leftStep!(frame);
    const second = rightStep!(frame);
    charge(frame, first instanceof OpaqueValue && !isNegated ? 1 : traversal(Math.min(sizeOf(first), sizeOf(second))));
    if (first instanceof Failure) return first;
    if (second instanceof Failure) return second;
    const same = equal(first, second);
    return isNegated ? same !== true : same;
  });
