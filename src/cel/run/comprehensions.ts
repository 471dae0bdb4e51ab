import type {ComprehensionExpr} from '#src/cel/syntax/ast.js';
import type {Evaluation, Frame, Step} from '#src/cel/values/frame.js';
import {GrowingList, GrowingMap, NativeList, NativeMap} from '#src/cel/values/native.js';
import {isStepDue} from './parts.js';
import {Failure, ListValue, MapValue, typeOfValue, type Value} from '#src/cel/values/values.js';

/** Go type names that upstream's messages show for values that are not iterable. */
const goNames: Readonly<Record<string, string>> = {
  bool: 'types.Bool',
  int: 'types.Int',
  uint: 'types.Uint',
  double: 'types.Double',
  string: 'types.String',
  bytes: 'types.Bytes',
  null_type: 'types.Null',
  'google.protobuf.Timestamp': 'types.Timestamp',
  'google.protobuf.Duration': 'types.Duration',
  optional_type: '*types.Optional',
  type: '*types.Type',
};

/** Returns the failure of a comprehension over a value that is not iterable. */
export const notIterable = (over: Value, isPaired: boolean): Failure => {
  const {name} = typeOfValue(over);
  const shown = goNames[name] ?? name;
  return new Failure(isPaired ? `unsupported comprehension range type: ${shown}` : `got '${shown}', expected iterable type`);
};

/** Returns a step that creates a mutable accumulator for a comprehension that starts from an empty list or map. */
export const mutableAccumulator = ({accumulator, init}: ComprehensionExpr): Step | undefined => {
  if (accumulator !== '@result') return undefined;
  if (init.kind === 'list' && init.elements.length === 0) return () => new GrowingList();
  return init.kind === 'map' && init.entries.length === 0 ? () => new GrowingMap() : undefined;
};

/** Returns the evaluation of an accumulator: it begins when it is first used. */
export const gatheredIn = (slot: number, init: Evaluation): Evaluation => {
  const step: Step = frame => {
    const gathered = frame.locals[slot];
    return gathered === undefined ? (frame.locals[slot] = init.step(frame)) : gathered;
  };
  const {long} = init;
  if (!long) return {step};
  return {
    step,
    *long(frame) {
      const gathered = frame.locals[slot];
      return gathered === undefined ? (frame.locals[slot] = yield* long(frame)) : gathered;
    },
  };
};

/** Returns the result of a comprehension as an immutable value. */
export const immutableResult = (result: Value): Value => {
  if (result instanceof GrowingList) return new NativeList(result.items);
  return result instanceof GrowingMap ? new NativeMap(result.entries) : result;
};

/** A planned comprehension. */
export interface Loop {
  readonly range: Evaluation;
  readonly condition: Evaluation;
  readonly step: Evaluation;
  readonly result: Evaluation;
  /**
   * The slots of the accumulator and of the variables: an element or key, or both index and element, or key and value.
   */
  readonly accumulator: number;
  readonly first: number;
  readonly second: number | undefined;
}

/**
 * Calls `iterate` for each element of a list or entry of a map, stored in the slots, until it returns false. Returns
 * false for values that are not iterable.
 */
const forEach = ({first, second}: Loop, frame: Frame, over: Value, iterate: (frame: Frame) => boolean): boolean => {
  const {locals} = frame;
  if (over instanceof ListValue) {
    const {size} = over;
    for (let index = 0; index < size; index += 1) {
      if (second === undefined) locals[first] = over.at(index);
      else {
        locals[first] = BigInt(index);
        locals[second] = over.at(index);
      }
      if (!iterate(frame)) break;
    }
    return true;
  }
  if (!(over instanceof MapValue)) return false;
  for (const key of over.keys()) {
    locals[first] = key;
    if (second !== undefined) locals[second] = over.find(key) ?? null;
    if (!iterate(frame)) break;
  }
  return true;
};

/**
 * Returns a function that stores the next element or entry in the slots, until there is none. Undefined for values that
 * are not iterable.
 */
const cursorOver = ({first, second}: Loop, {locals}: Frame, over: Value): (() => boolean) | undefined => {
  if (over instanceof ListValue) {
    const {size} = over;
    let index = 0;
    return () => {
      if (index >= size) return false;
      locals[second ?? first] = over.at(index);
      if (second !== undefined) locals[first] = BigInt(index);
      index += 1;
      return true;
    };
  }
  if (!(over instanceof MapValue)) return undefined;
  const keys = over.keys()[Symbol.iterator]();
  return () => {
    const {done, value: key} = keys.next();
    if (done) return false;
    locals[first] = key;
    if (second !== undefined) locals[second] = over.find(key) ?? null;
    return true;
  };
};

/** Returns the evaluation of a comprehension, which is long for all values. */
export const loopEvaluation = (loop: Loop): Evaluation => {
  const {range, condition, step, result, accumulator, second} = loop;
  const iterate = (frame: Frame): boolean => {
    if (condition.step(frame) === false) return false;
    frame.locals[accumulator] = step.step(frame);
    return true;
  };
  return {
    step: frame => {
      const over = range.step(frame);
      if (over instanceof Failure) return over;
      frame.locals[accumulator] = undefined;
      if (!forEach(loop, frame, over, iterate)) return notIterable(over, second !== undefined);
      return immutableResult(result.step(frame));
    },
    *long(frame) {
      const over = range.long ? yield* range.long(frame) : range.step(frame);
      if (over instanceof Failure) return over;
      frame.locals[accumulator] = undefined;
      const advance = cursorOver(loop, frame, over);
      if (!advance) return notIterable(over, second !== undefined);
      while (advance()) {
        const holds = condition.long ? yield* condition.long(frame) : condition.step(frame);
        if (holds === false) break;
        frame.locals[accumulator] = step.long ? yield* step.long(frame) : step.step(frame);
        if (isStepDue(frame)) yield;
      }
      return immutableResult(result.long ? yield* result.long(frame) : result.step(frame));
    },
  };
};
