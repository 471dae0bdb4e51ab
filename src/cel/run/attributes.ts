import type {Steps} from '#src/base/steps.js';
import {charge, type Evaluation, type Frame, type Step} from '#src/cel/values/frame.js';
import {Failure, ListValue, MapValue, noSuchOverload, Optional, typeOfValue, Uint, type Value} from '#src/cel/values/values.js';

/** One step of an attribute path: `.field`, `[index]`, or the optional form of either. */
export type Key = ({readonly constant: Value} | Evaluation) & {
  /** Whether a missing entry results in `optional.none()`. */
  readonly isOptional: boolean;
  /** Whether only presence is tested. */
  readonly isTest: boolean;
};

/**
 * An attribute: a base (usually a variable) and the keys selected from it. Enclosing nodes append keys before it
 * becomes a step.
 */
export interface Path {
  readonly base: Evaluation;
  /** Whether the base may be a map whose entries are computed when they are first used. */
  readonly isComputed: boolean;
  readonly keys: readonly Key[];
  /** The cost of resolving it, without the cost of its keys. */
  readonly cost: number;
  readonly isTest: boolean;
}

/** A part of an expression while it is being planned: a constant, an attribute path, or how it is evaluated. */
export type Node = {readonly constant: Value} | {readonly path: Path} | Evaluation;

const nameCost = 1;

export const isAttribute = (node: Node): node is {readonly path: Path} => 'path' in node;

export const plainAttribute = (base: Evaluation): {readonly path: Path} => ({
  path: {base, isComputed: false, keys: [], cost: nameCost, isTest: false},
});

/** Returns the path with one key appended. */
export const withKey = (node: Node, key: Key): {readonly path: Path} => {
  if (!isAttribute(node)) throw new Error('only a path can be made longer');
  return {path: {...node.path, keys: [...node.path.keys, key]}};
};

/** Returns the path as one whose base may be a map of computed entries. */
export const ofComputed = ({path}: {readonly path: Path}): {readonly path: Path} => ({path: {...path, isComputed: true}});

/** Returns the path as a presence test, which is free of charge. */
export const presenceTest = ({path}: {readonly path: Path}): {readonly path: Path} => ({path: {...path, cost: 0, isTest: true}});

/** `condition ? a : b`. Costs what its operands cost; for attribute operands only the keys are charged. */
export const conditionalOf = (condition: Evaluation, whenTrue: Node, whenFalse: Node): {readonly path: Path} => {
  const branch = (node: Node): Evaluation => (isAttribute(node) ? resolveAttribute(node) : evaluationOf(node));
  const [first, second] = [branch(whenTrue), branch(whenFalse)];
  const otherwise = (chosen: Value): Value => (chosen instanceof Failure ? chosen : noSuchOverload);
  const step: Step = frame => {
    const chosen = condition.step(frame);
    if (chosen === true) return first.step(frame);
    return chosen === false ? second.step(frame) : otherwise(chosen);
  };
  const long = function* (frame: Frame): Steps<Value> {
    const chosen = condition.long ? yield* condition.long(frame) : condition.step(frame);
    if (typeof chosen !== 'boolean') return otherwise(chosen);
    const taken = chosen ? first : second;
    return taken.long ? yield* taken.long(frame) : taken.step(frame);
  };
  const base = condition.long || first.long || second.long ? {step, long} : {step};
  return {path: {base, isComputed: false, keys: [], cost: 0, isTest: false}};
};

/** Formats a key as messages show it. */
export const formatKey = (key: Value): string => (key instanceof Uint ? String(key.value) : String(key));

const indexOf = (key: Value): number | Failure => {
  if (typeof key === 'bigint') return Number(key);
  if (key instanceof Uint) return Number(key.value);
  if (typeof key === 'number') return Number.isInteger(key) ? key : new Failure(`unsupported index value ${key} in list`);
  return new Failure(`unsupported index type '${typeOfValue(key).name}' in list`);
};

/** Returns the value stored under a key, or undefined. */
const entryAt = (value: Value, key: Value): Value | undefined => {
  if (value instanceof MapValue) return value.find(key);
  if (!(value instanceof ListValue)) return undefined;
  const index = indexOf(key);
  if (index instanceof Failure) return index;
  return index >= 0 && index < value.size ? value.at(index) : undefined;
};

const missingEntry = (value: Value, key: Value): Failure =>
  new Failure(value instanceof ListValue ? `index out of bounds: ${formatKey(key)}` : `no such key: ${formatKey(key)}`);

const resolveKey = (value: Value, key: Value, isTest: boolean): Value => {
  if (value instanceof Failure) return value;
  if (key instanceof Failure) return key;
  const found = entryAt(value, key);
  if (isTest) return found instanceof Failure ? found : found !== undefined;
  return found === undefined ? missingEntry(value, key) : found;
};

const keyEvaluation = (key: Key): Evaluation => {
  if (!('constant' in key)) return key;
  const {constant} = key;
  return {step: () => constant};
};

/** Resolves a key within an optional, or a failure of either. Undefined for an entry that is missing. */
const optionalEntry = (frame: Frame, value: Value, key: Value): Value | undefined => {
  const found = key instanceof Failure ? key : entryAt(value, key);
  if (found !== undefined && !(found instanceof Failure)) charge(frame, nameCost);
  return found;
};

/** Resolves the keys from index `at` on within an optional. A missing entry results in `optional.none()`. */
const followOptional = (frame: Frame, from: Value, keys: readonly Evaluation[], at: number): Value => {
  let value = from;
  for (let index = at; index < keys.length; index += 1) {
    const found = optionalEntry(frame, value, keys[index]!.step(frame));
    if (found === undefined || found instanceof Failure) return found ?? new Optional();
    value = found;
  }
  return new Optional(value);
};

const followOptionalInSteps = function* (frame: Frame, from: Value, keys: readonly Evaluation[], at: number): Steps<Value> {
  let value = from;
  for (let index = at; index < keys.length; index += 1) {
    const {step, long} = keys[index]!;
    const key = long ? yield* long(frame) : step(frame);
    yield* computed(value, key);
    const found = optionalEntry(frame, value, key);
    if (found === undefined || found instanceof Failure) return found ?? new Optional();
    value = found;
  }
  return new Optional(value);
};

/** Computes an entry in steps where its map would compute it when it is used. */
const computed = function* (value: Value, key: Value): Steps<void> {
  const computing = value instanceof MapValue ? value.compute?.(key) : undefined;
  if (computing) yield* computing;
};

/** Returns the evaluation of an attribute, without the attribute's own cost. */
export const resolveAttribute = ({path: {base, isComputed, keys, isTest}}: {readonly path: Path}): Evaluation => {
  const parts = keys.map(keyEvaluation);
  const firstOptional = keys.findIndex(({isOptional}) => isOptional);
  const plain = firstOptional === -1 ? keys.length : firstOptional;
  const shown = (value: Value): Value => (isTest && value instanceof Optional ? value.value !== undefined : value);
  const step: Step = frame => {
    let value = base.step(frame);
    if (value instanceof Failure) return value;
    if (keys.length === 0) return shown(value);
    if (value instanceof Optional) return shown(value.value === undefined ? value : followOptional(frame, value.value, parts, 0));
    for (let index = 0; index < plain; index += 1) {
      const key = parts[index]!.step(frame);
      value = resolveKey(value, key, keys[index]!.isTest);
      charge(frame, nameCost);
      if (value instanceof Failure) return value;
    }
    return shown(plain === keys.length ? value : followOptional(frame, value, parts, plain));
  };
  if (!base.long && !isComputed && !parts.some(({long}) => long)) return {step};
  const long = function* (frame: Frame): Steps<Value> {
    let value = base.long ? yield* base.long(frame) : base.step(frame);
    if (value instanceof Failure) return value;
    if (keys.length === 0) return shown(value);
    if (value instanceof Optional)
      return shown(value.value === undefined ? value : yield* followOptionalInSteps(frame, value.value, parts, 0));
    for (let index = 0; index < plain; index += 1) {
      const part = parts[index]!;
      const key = part.long ? yield* part.long(frame) : part.step(frame);
      yield* computed(value, key);
      value = resolveKey(value, key, keys[index]!.isTest);
      charge(frame, nameCost);
      if (value instanceof Failure) return value;
    }
    return shown(plain === keys.length ? value : yield* followOptionalInSteps(frame, value, parts, plain));
  };
  return {step, long};
};

/** Returns the evaluation of a node to which no more keys are appended. */
export const evaluationOf = (node: Node): Evaluation => {
  if ('constant' in node) {
    const {constant} = node;
    return {step: () => constant};
  }
  if (!isAttribute(node)) return node;
  const {step, long} = resolveAttribute(node);
  const {cost} = node.path;
  if (cost === 0) return {step, long};
  const paid: Step = frame => {
    const value = step(frame);
    charge(frame, cost);
    return value;
  };
  if (!long) return {step: paid};
  return {
    step: paid,
    *long(frame) {
      const value = yield* long(frame);
      charge(frame, cost);
      return value;
    },
  };
};
