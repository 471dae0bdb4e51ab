import {stepOf, type Node} from './attributes.js';
import {equal} from '#src/cel/values/compare.js';
import {traversal} from '#src/cel/values/costs.js';
import {charge, type Step} from '#src/cel/values/frame.js';
import {Failure, keyOf, ListValue, noSuchOverload, OpaqueValue, sizeOf} from '#src/cel/values/values.js';

/** `value in [constants]` as a set lookup, free of charge. Returns undefined where the list contains values that are not scalar. */
export const membership = (sought: Node, list: Node): Node | undefined => {
  if (!('constant' in list) || !(list.constant instanceof ListValue)) return undefined;
  if (list.constant.size === 0) return {constant: false};
  const keys = [...list.constant].map(keyOf);
  if (keys.includes(undefined)) return undefined;
  const set: ReadonlySet<unknown> = new Set(keys);
  const step = stepOf(sought);
  return {
    step: frame => {
      const value = step(frame);
      if (value instanceof Failure) return value;
      const key = keyOf(value);
      return key !== undefined && set.has(key);
    },
  };
};

/** `a && b`: false if either operand is false, even if the other fails. */
export const logicalAnd =
  (left: Step, right: Step): Step =>
  frame => {
    const first = left(frame);
    if (first === false) return false;
    const second = right(frame);
    if (second === false) return false;
    if (first === true && second === true) return true;
    const other = first === true ? second : first;
    return other instanceof Failure ? other : noSuchOverload;
  };

/** `a || b`: true if either operand is true, even if the other fails. */
export const logicalOr =
  (left: Step, right: Step): Step =>
  frame => {
    const first = left(frame);
    if (first === true) return true;
    const second = right(frame);
    if (second === true) return true;
    if (first === false && second === false) return false;
    const other = first === false ? second : first;
    return other instanceof Failure ? other : noSuchOverload;
  };

/** `a == b` and `a != b`. */
export const comparison =
  (left: Step, right: Step, isNegated: boolean): Step =>
  frame => {
    const first = left(frame);
    const second = right(frame);
    charge(frame, first instanceof OpaqueValue && !isNegated ? 1 : traversal(Math.min(sizeOf(first), sizeOf(second))));
    if (first instanceof Failure) return first;
    if (second instanceof Failure) return second;
    const same = equal(first, second);
    return isNegated ? same !== true : same;
  };
