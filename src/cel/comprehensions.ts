import type {ComprehensionExpr} from './ast.js';
import type {Frame, Step} from './frame.js';
import {GrowingList, GrowingMap, NativeList, NativeMap} from './native.js';
import {Failure, ListValue, MapValue, typeOfValue, type Value} from './values.js';

/** The names the original's messages have for values that nothing loops over. */
const goNames: Readonly<Record<string, string>> = {
  bool: 'types.Bool', int: 'types.Int', uint: 'types.Uint', double: 'types.Double', string: 'types.String', bytes: 'types.Bytes', null_type: 'types.Null',
  'google.protobuf.Timestamp': 'types.Timestamp', 'google.protobuf.Duration': 'types.Duration', optional_type: '*types.Optional', type: '*types.Type',
};

/** What looping over something that holds nothing ends with. */
export const notIterable = (over: Value, isPaired: boolean): Failure => {
  const {name} = typeOfValue(over);
  const shown = goNames[name] ?? name;
  return new Failure(isPaired ? `unsupported comprehension range type: ${shown}` : `got '${shown}', expected iterable type`);
};

/** What a fold that gathers from nothing gathers in. */
export const mutableAccumulator = ({accumulator, init}: ComprehensionExpr): Step | undefined => {
  if (accumulator !== '@result') return undefined;
  if (init.kind === 'list' && init.elements.length === 0) return () => new GrowingList();
  return init.kind === 'map' && init.entries.length === 0 ? () => new GrowingMap() : undefined;
};

/** What a fold gathered, which grows no more. */
export const immutableResult = (result: Value): Value => {
  if (result instanceof GrowingList) return new NativeList(result.items);
  return result instanceof GrowingMap ? new NativeMap(result.entries) : result;
};

/** Takes a turn for each element of a list or key of a map, put into the slot, until a turn says that it was the last. False for values that hold none. */
export const forEachElement = (slot: number, iterate: (frame: Frame) => boolean) => (frame: Frame, over: Value): boolean => {
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

/** The same with two slots: index and element, or key and value. */
export const forEachEntry = (first: number, second: number, iterate: (frame: Frame) => boolean) => (frame: Frame, over: Value): boolean => {
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
