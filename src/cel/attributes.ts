import {charge, type Frame, type Step} from './frame.js';
import {Failure, ListValue, MapValue, noSuchOverload, Optional, typeOfValue, Uint, type Value} from './values.js';

/** A step of a path: `.field`, `[index]`, and with a question mark either of them. */
export type Key = ({readonly constant: Value} | {readonly step: Step}) & {
  /** What is not there gives none. */
  readonly isOptional: boolean;
  /** Only whether it is there is asked. */
  readonly isTest: boolean;
};

/** A path from a variable, or from whatever else is found first. Nodes above it make it longer before it becomes a step. */
interface Path {
  readonly base: Step;
  readonly keys: readonly Key[];
  /** What finding it costs beside its keys. */
  readonly cost: number;
  readonly isTest: boolean;
}

/** A part of an expression before it becomes a step: a value that never changes, a path, or any other step. */
export type Node = {readonly constant: Value} | {readonly path: Path} | {readonly step: Step};

const nameCost = 1;

export const isAttribute = (node: Node): node is {readonly path: Path} => 'path' in node;

export const plainAttribute = (base: Step): {readonly path: Path} => ({path: {base, keys: [], cost: nameCost, isTest: false}});

/** The path one key longer. */
export const withKey = (node: Node, key: Key): {readonly path: Path} => {
  if (!isAttribute(node)) throw new Error('only a path can be made longer');
  return {path: {...node.path, keys: [...node.path.keys, key]}};
};

/** A path of which only is asked whether its end is there, which is free. */
export const presenceTest = ({path}: {readonly path: Path}): {readonly path: Path} => ({path: {...path, cost: 0, isTest: true}});

/** `condition ? a : b`. It costs what its parts cost; of a path, only the keys. */
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

/** How messages write a key. */
export const formatKey = (key: Value): string => (key instanceof Uint ? String(key.value) : String(key));

const indexOf = (key: Value): number | Failure => {
  if (typeof key === 'bigint') return Number(key);
  if (key instanceof Uint) return Number(key.value);
  if (typeof key === 'number') return Number.isInteger(key) ? key : new Failure(`unsupported index value ${key} in list`);
  return new Failure(`unsupported index type '${typeOfValue(key).name}' in list`);
};

/** What stands under a key, undefined where nothing does. */
const entryAt = (value: Value, key: Value): Value | undefined => {
  if (value instanceof MapValue) return value.find(key);
  if (!(value instanceof ListValue)) return undefined;
  const index = indexOf(key);
  if (index instanceof Failure) return index;
  return index >= 0 && index < value.size ? value.at(index) : undefined;
};

const missingEntry = (value: Value, key: Value): Failure => new Failure(value instanceof ListValue ? `index out of bounds: ${formatKey(key)}` : `no such key: ${formatKey(key)}`);

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

/** Follows the keys from an optional, or from the first key on that is one: what is not there is none. */
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

/** The step that finds where a path leads, without what the path itself costs. */
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

/** The step a node becomes when nothing more is added to it. */
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
