import {charge, type Frame, type Step} from '#src/cel/values/frame.js';
import {Failure, ListValue, MapValue, noSuchOverload, Optional, typeOfValue, Uint, type Value} from '#src/cel/values/values.js';

/** One step of an attribute path: `.field`, `[index]`, or the optional form of either. */
export type Key = ({readonly constant: Value} | {readonly step: Step}) & {
  /** Whether a missing entry results in `optional.none()`. */
  readonly isOptional: boolean;
  /** Whether only presence is tested. */
  readonly isTest: boolean;
};

/** An attribute: a base (usually a variable) and the keys selected from it. Enclosing nodes append keys before it becomes a step. */
interface Path {
  readonly base: Step;
  readonly keys: readonly Key[];
  /** The cost of resolving it, without the cost of its keys. */
  readonly cost: number;
  readonly isTest: boolean;
}

/** A part of an expression while it is being planned: a constant, an attribute path, or a step. */
export type Node = {readonly constant: Value} | {readonly path: Path} | {readonly step: Step};

const nameCost = 1;

export const isAttribute = (node: Node): node is {readonly path: Path} => 'path' in node;

export const plainAttribute = (base: Step): {readonly path: Path} => ({path: {base, keys: [], cost: nameCost, isTest: false}});

/** Returns the path with one key appended. */
export const withKey = (node: Node, key: Key): {readonly path: Path} => {
  if (!isAttribute(node)) throw new Error('only a path can be made longer');
  return {path: {...node.path, keys: [...node.path.keys, key]}};
};

/** Returns the path as a presence test, which is free of charge. */
export const presenceTest = ({path}: {readonly path: Path}): {readonly path: Path} => ({path: {...path, cost: 0, isTest: true}});

/** `condition ? a : b`. Costs what its operands cost; for attribute operands only the keys are charged. */
export const conditionalOf = (condition: Step, whenTrue: Node, whenFalse: Node): {readonly path: Path} => {
  const [first, second] = [whenTrue, whenFalse].map(node => (isAttribute(node) ? resolveAttribute(node) : stepOf(node))) as [Step, Step];
  const base: Step = frame => {
    const chosen = condition(frame);
    if (chosen === true) return first(frame);
    if (chosen === false) return second(frame);
    return chosen instanceof Failure ? chosen : noSuchOverload;
  };
  return {path: {base, keys: [], cost: 0, isTest: false}};
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

const keyStep = (key: Key): Step => {
  if (!('constant' in key)) return key.step;
  const {constant} = key;
  return () => constant;
};

/** Resolves the keys from index `at` on within an optional. A missing entry results in `optional.none()`. */
const followOptional = (frame: Frame, from: Value, keys: readonly Key[], steps: readonly Step[], at: number): Value => {
  let value = from;
  for (let index = at; index < keys.length; index += 1) {
    const key = steps[index]!(frame);
    const found = key instanceof Failure ? key : entryAt(value, key);
    if (found instanceof Failure) return found;
    if (found === undefined) return new Optional();
    charge(frame, nameCost);
    value = found;
  }
  return new Optional(value);
};

/** Returns the step that resolves an attribute, without the attribute's own cost. */
export const resolveAttribute = ({path: {base, keys, isTest}}: {readonly path: Path}): Step => {
  const steps = keys.map(keyStep);
  const firstOptional = keys.findIndex(({isOptional}) => isOptional);
  const plain = firstOptional === -1 ? keys.length : firstOptional;
  const follow: Step = frame => {
    let value = base(frame);
    if (value instanceof Failure || keys.length === 0) return value;
    if (value instanceof Optional) return value.value === undefined ? value : followOptional(frame, value.value, keys, steps, 0);
    for (let index = 0; index < plain; index += 1) {
      const key = steps[index]!(frame);
      value = resolveKey(value, key, keys[index]!.isTest);
      charge(frame, nameCost);
      if (value instanceof Failure) return value;
    }
    return plain === keys.length ? value : followOptional(frame, value, keys, steps, plain);
  };
  if (!isTest) return follow;
  return frame => {
    const value = follow(frame);
    return value instanceof Optional ? value.value !== undefined : value;
  };
};

/** Returns the step of a node to which no more keys are appended. */
export const stepOf = (node: Node): Step => {
  if ('constant' in node) {
    const {constant} = node;
    return () => constant;
  }
  if (!isAttribute(node)) return node.step;
  const find = resolveAttribute(node);
  const {cost} = node.path;
  if (cost === 0) return find;
  return frame => {
    const value = find(frame);
    charge(frame, cost);
    return value;
  };
};
