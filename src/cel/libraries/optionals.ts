import {declare, member, overload, type FunctionDeclaration, type Library} from '#src/cel/check/declarations.js';
import type {Evaluation, Step} from '#src/cel/values/frame.js';
import {bindVariable, variableName, type Macro} from '#src/cel/syntax/macros.js';
import {NativeList} from '#src/cel/values/native.js';
import {bool, dyn, int, listOf, mapOf, optionalOf, param, string} from '#src/cel/values/types.js';
import {Bytes, Duration, Failure, ListValue, MapValue, Optional, Timestamp, Uint, type Value} from '#src/cel/values/values.js';

const k = param('K');
const v = param('V');
const optional = optionalOf(v);
const list = listOf(v);
const map = mapOf(k, v);

/** Year 1, the zero timestamp. */
const zeroTime = -62_135_596_800_000_000_000n;

const isZero = (value: Value): boolean => {
  if (value === null || value === false || value === '' || value === 0n || value === 0) return true;
  if (value instanceof ListValue || value instanceof MapValue) return value.size === 0;
  if (value instanceof Bytes) return value.data.length === 0;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Timestamp) return value.nanos === zeroTime;
  if (value instanceof Duration) return value.nanos === 0n;
  return value instanceof Optional && value.value === undefined;
};

const dereferenced = new Failure('optional.none() dereference');

const unwrapped = (values: ListValue): Value => {
  const found: Value[] = [];
  for (const value of values) {
    if (!(value instanceof Optional)) return new Failure('value is not optional');
    if (value.value !== undefined) found.push(value.value);
  }
  return new NativeList(found);
};

/** Returns the value of the first operand if present, else evaluates the second. */
const firstPresent =
  (present: (optional: Optional) => Value) =>
  ([first, second]: readonly Evaluation[]): Evaluation => {
    const isAbsent = (value: Value): boolean => value instanceof Optional && value.value === undefined;
    const step: Step = frame => {
      const value = first!.step(frame);
      if (isAbsent(value)) return second!.step(frame);
      return value instanceof Optional ? present(value) : value;
    };
    if (!first!.long && !second!.long) return {step};
    return {
      step,
      *long(frame) {
        const value = first!.long ? yield* first!.long(frame) : first!.step(frame);
        if (isAbsent(value)) return second!.long ? yield* second!.long(frame) : second!.step(frame);
        return value instanceof Optional ? present(value) : value;
      },
    };
  };

const alternative = (name: string, id: string, isValue: boolean): FunctionDeclaration => ({
  ...declare(name, member(id, [optional, isValue ? v : optional], isValue ? v : optional)),
  lazily: firstPresent(found => (isValue ? found.value! : found)),
});

const functions: readonly FunctionDeclaration[] = [
  declare(
    'optional.of',
    overload('optional_of', [v], optional, (value: Value) => new Optional(value)),
  ),
  declare(
    'optional.ofNonZeroValue',
    overload('optional_ofNonZeroValue', [v], optional, (value: Value) => (isZero(value) ? new Optional() : new Optional(value))),
  ),
  declare(
    'optional.none',
    overload('optional_none', [], optional, () => new Optional()),
  ),
  declare(
    'value',
    member('optional_value', [optional], v, ({value}: Optional) => (value === undefined ? dereferenced : value)),
  ),
  declare(
    'hasValue',
    member('optional_hasValue', [optional], bool, ({value}: Optional) => value !== undefined),
  ),
  alternative('or', 'optional_or_optional', false),
  alternative('orValue', 'optional_orValue_value', true),
  declare('_?._', overload('select_optional_field', [dyn, string], optional)),
  declare(
    '_[?_]',
    overload('list_optindex_optional_int', [list, int], optional),
    overload('optional_list_optindex_optional_int', [optionalOf(list), int], optional),
    overload('map_optindex_optional_value', [map, k], optional),
    overload('optional_map_optindex_optional_value', [optionalOf(map), k], optional),
  ),
  declare(
    '_[_]',
    overload('optional_list_index_int', [optionalOf(list), int], optional),
    overload('optional_map_index_value', [optionalOf(map), k], optional),
  ),
  declare(
    'first',
    member('list_first', [list], optional, (values: ListValue) => (values.size === 0 ? new Optional() : new Optional(values.at(0)))),
  ),
  declare(
    'last',
    member('list_last', [list], optional, (values: ListValue) =>
      values.size === 0 ? new Optional() : new Optional(values.at(values.size - 1)),
    ),
  ),
  declare('optional.unwrap', overload('optional_unwrap', [listOf(optional)], list, unwrapped)),
  declare('unwrapOpt', member('optional_unwrapOpt', [listOf(optional)], list, unwrapped)),
];

/** `x.optMap(y, f(y))`: applies `f` to the value if present. */
const mapping = (name: string, isWrapped: boolean): Macro => ({
  name,
  isMember: true,
  arity: 2,
  expand: (make, [declared, mapped], target) => {
    const variable = variableName(declared!, `${name}() variable name must be a simple identifier`);
    const result = bindVariable(make, variable, make.member('value', target!), mapped!);
    return make.call(
      '_?_:_',
      make.member('hasValue', target!),
      isWrapped ? make.call('optional.of', result) : result,
      make.call('optional.none'),
    );
  },
});

/** The optional library: `a.?b`, `a[?b]`, `[?a]`, and functions of optionals. */
export const optionals: Library = {
  name: 'optionals',
  functions,
  macros: [mapping('optMap', true), mapping('optFlatMap', false)],
  types: [optional],
  optionalSyntax: true,
};
