// Lists, maps and objects that an expression creates from the values of its parts.

import {charge, type Step} from '#src/cel/values/frame.js';
import {NativeList, NativeMap} from '#src/cel/values/native.js';
import {Failure, Optional, type Value} from '#src/cel/values/values.js';

/** The cost of creating a list, a map or an object. */
export const listCost = 10;
export const mapCost = 30;
export const structCost = 40;

/** Returns a step with a cost, which is charged once its value is known. */
export const withCost =
  (make: Step, cost: number): Step =>
  frame => {
    const made = make(frame);
    charge(frame, cost);
    return made;
  };

/** Whether no further part is evaluated: the value is a failure, or is not optional where it should be. */
export const endsCreation = (value: Value, isOptional: boolean): boolean =>
  value instanceof Failure || (isOptional && !(value instanceof Optional));

/** Returns the step that creates a list of its elements. */
export const listStep =
  (elements: readonly Step[], optional: ReadonlySet<number>): Step =>
  frame => {
    const items: Value[] = [];
    for (const [index, element] of elements.entries()) {
      const item = element(frame);
      if (item instanceof Failure) return item;
      if (!optional.has(index)) items.push(item);
      else if (!(item instanceof Optional)) return new Failure('cannot initialize optional list element from non-optional value');
      else if (item.value !== undefined) items.push(item.value);
    }
    return new NativeList(items);
  };

const notOptional = (): Failure => new Failure('cannot initialize optional entry from non-optional value');

/** Returns the step that creates a map of its keys and values, which alternate. */
export const mapStep =
  (parts: readonly Step[], optional: readonly boolean[]): Step =>
  frame => {
    const made = new NativeMap();
    for (const [index, isOptional] of optional.entries()) {
      const key = parts[2 * index]!(frame);
      if (key instanceof Failure) return key;
      const value = parts[2 * index + 1]!(frame);
      if (value instanceof Failure) return value;
      if (isOptional && !(value instanceof Optional)) return notOptional();
      const entry = isOptional ? (value as Optional).value : value;
      const failure = entry === undefined ? undefined : made.put(key, entry);
      if (failure) return failure;
    }
    return made;
  };

type Create = (type: string, fields: ReadonlyMap<string, Value>) => Value;

/** Returns the step that creates an object of its fields. */
export const structStep =
  (
    {type, names, optional}: {readonly type: string; readonly names: readonly string[]; readonly optional: readonly boolean[]},
    values: readonly Step[],
    create: Create | undefined,
  ): Step =>
  frame => {
    const made = new Map<string, Value>();
    for (const [index, name] of names.entries()) {
      const value = values[index]!(frame);
      if (value instanceof Failure) return value;
      if (optional[index] && !(value instanceof Optional)) return notOptional();
      const field = optional[index] ? (value as Optional).value : value;
      if (field !== undefined) made.set(name, field);
    }
    return create ? create(type, made) : new Failure(`unknown type: ${type}`);
  };
