import type {ComprehensionExpr} from '#src/cel/syntax/ast.js';
import type {Frame, Step} from '#src/cel/values/frame.js';
import {GrowingList, GrowingMap, NativeList, NativeMap} from '#src/cel/values/native.js';
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

/** Returns the result of a comprehension as an immutable value. */
export const immutableResult = (result: Value): Value => {
  if (result instanceof GrowingList) return new NativeList(result.items);
  return result instanceof GrowingMap ? new NativeMap(result.entries) : result;
};

/** Calls `iterate` for each element of a list or key of a map, stored in the slot, until it returns false. Returns false for values that are not iterable. */
export const forEachElement =
  (slot: number, iterate: (frame: Frame) => boolean) =>
  (frame: Frame, over: Value): boolean => {
    if (over instanceof ListValue) {
      const {size} = over;
      for (let index = 0; index < size; index += 1) {
        frame.locals[slot] = over.at(index);
        if (!iterate(frame)) break;
      }
      return true;
    }
    if (!(over instanceof MapValue)) return false;
    for (const key of over.keys()) {
      frame.locals[slot] = key;
      if (!iterate(frame)) break;
    }
    return true;
  };

/** As `forEachElement` with two slots: index and element, or key and value. */
export const forEachEntry =
  (first: number, second: number, iterate: (frame: Frame) => boolean) =>
  (frame: Frame, over: Value): boolean => {
    if (over instanceof ListValue) {
      const {size} = over;
      for (let index = 0; index < size; index += 1) {
        frame.locals[first] = BigInt(index);
        frame.locals[second] = over.at(index);
        if (!iterate(frame)) break;
      }
      return true;
    }
    if (!(over instanceof MapValue)) return false;
    for (const key of over.keys()) {
      frame.locals[first] = key;
      frame.locals[second] = over.find(key) ?? null;
      if (!iterate(frame)) break;
    }
    return true;
  };
