import {compare, contains} from '#src/cel/values/compare.js';
import {traversal} from '#src/cel/values/costs.js';
import {declare, overload, type FunctionDeclaration} from '#src/cel/check/declarations.js';
import {checkedInt, checkedUint, divisionByZero, modulusByZero} from '#src/cel/values/numbers.js';
import {durationOf, timestampOf} from '#src/cel/values/time.js';
import {
  bool,
  bytes,
  double,
  duration,
  int,
  listOf,
  mapOf,
  param,
  string,
  timestamp,
  uint,
  type Type,
  type TypeKind,
} from '#src/cel/values/types.js';
import {Bytes, Duration, ListValue, MapValue, noSuchOverload, sizeOf, Timestamp, Uint, type Value} from '#src/cel/values/values.js';

const a = param('A');
const b = param('B');
const listOfA = listOf(a);
const mapOfAB = mapOf(a, b);

/** The types that an operator accepts on its left side. */
const comparable: ReadonlySet<TypeKind> = new Set(['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration']);
const takenBy: Readonly<Record<string, ReadonlySet<TypeKind>>> = {
  '_+_': new Set(['bytes', 'double', 'duration', 'int', 'list', 'string', 'timestamp', 'uint']),
  '_-_': new Set(['double', 'duration', 'int', 'timestamp', 'uint']),
  '_*_': new Set(['double', 'int', 'uint']),
  '_/_': new Set(['double', 'int', 'uint']),
  '_%_': new Set(['int', 'uint']),
};

type Binary = (left: Value, right: Value) => Value;

const joined: FunctionDeclaration['cost'] = ([left, right]) => traversal(sizeOf(left!) + sizeOf(right!));
const shorter: FunctionDeclaration['cost'] = ([left, right]) => traversal(Math.min(sizeOf(left!), sizeOf(right!)));

const bothBigints = (left: Value, right: Value): left is bigint => typeof left === 'bigint' && typeof right === 'bigint';

const add: Binary = (left, right) => {
  if (bothBigints(left, right)) return checkedInt(left + (right as bigint));
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (left instanceof ListValue && right instanceof ListValue) return left.concat(right);
  if (left instanceof Uint && right instanceof Uint) return checkedUint(left.value + right.value);
  if (left instanceof Bytes && right instanceof Bytes) return new Bytes(Buffer.concat([left.data, right.data]));
  if (left instanceof Duration && right instanceof Duration) return durationOf(left.nanos + right.nanos);
  if (left instanceof Duration && right instanceof Timestamp) return timestampOf(left.nanos + right.nanos, right.eastMinutes);
  if (left instanceof Timestamp && right instanceof Duration) return timestampOf(left.nanos + right.nanos, left.eastMinutes);
  return noSuchOverload;
};

const subtract: Binary = (left, right) => {
  if (bothBigints(left, right)) return checkedInt(left - (right as bigint));
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (left instanceof Uint && right instanceof Uint) return checkedUint(left.value - right.value);
  if (left instanceof Duration && right instanceof Duration) return durationOf(left.nanos - right.nanos);
  if (left instanceof Timestamp && right instanceof Duration) return timestampOf(left.nanos - right.nanos, left.eastMinutes);
  if (left instanceof Timestamp && right instanceof Timestamp) return durationOf(left.nanos - right.nanos);
  return noSuchOverload;
};

const multiply: Binary = (left, right) => {
  if (bothBigints(left, right)) return checkedInt(left * (right as bigint));
  if (typeof left === 'number' && typeof right === 'number') return left * right;
  if (left instanceof Uint && right instanceof Uint) return checkedUint(left.value * right.value);
  return noSuchOverload;
};

const divide: Binary = (left, right) => {
  if (bothBigints(left, right)) return right === 0n ? divisionByZero : checkedInt(left / (right as bigint));
  if (typeof left === 'number' && typeof right === 'number') return left / right;
  if (left instanceof Uint && right instanceof Uint) return right.value === 0n ? divisionByZero : checkedUint(left.value / right.value);
  return noSuchOverload;
};

const minInt = -(2n ** 63n);

const modulo: Binary = (left, right) => {
  if (bothBigints(left, right)) {
    if (right === 0n) return modulusByZero;
    return left === minInt && right === -1n ? checkedInt(-minInt) : left % (right as bigint);
  }
  if (left instanceof Uint && right instanceof Uint) return right.value === 0n ? modulusByZero : checkedUint(left.value % right.value);
  return noSuchOverload;
};

const negate = (value: Value): Value => {
  if (typeof value === 'bigint') return checkedInt(-value);
  if (typeof value === 'number') return -value;
  if (value instanceof Duration) return durationOf(-value.nanos);
  return noSuchOverload;
};

const inside: Binary = (value, holder) => {
  if (holder instanceof ListValue) return contains(holder, value);
  if (!(holder instanceof MapValue)) return noSuchOverload;
  return holder.holds(value);
};

const ordered =
  (holds: (order: number) => boolean): Binary =>
  (left, right) => {
    const order = compare(left, right);
    return typeof order === 'number' ? holds(order) : order;
  };

const orderedTypes: readonly (readonly [string, Type])[] = [
  ['bool', bool],
  ['int64', int],
  ['uint64', uint],
  ['double', double],
  ['string', string],
  ['bytes', bytes],
  ['timestamp', timestamp],
  ['duration', duration],
];
const numbers: readonly (readonly [string, Type])[] = [
  ['int64', int],
  ['uint64', uint],
  ['double', double],
];

/** A comparison operator such as `<`: over two values of one type, and over numbers of any two types. */
const relation = (name: string, word: string, holds: (order: number) => boolean): FunctionDeclaration => ({
  name,
  takes: comparable,
  run: ordered(holds) as (...args: readonly Value[]) => Value,
  overloads: [
    ...orderedTypes.map(([id, type]) =>
      overload(`${word}_${id}`, [type, type], bool, undefined, type === string || type === bytes ? shorter : undefined),
    ),
    ...numbers.flatMap(([left, leftType]) =>
      numbers
        .filter(([right]) => right !== left)
        .map(([right, rightType]) => overload(`${word}_${left}_${right}`, [leftType, rightType], bool)),
    ),
  ],
});

const arithmetic = (
  name: string,
  run: Binary,
  ...shapes: readonly (readonly [id: string, args: readonly Type[], result: Type, cost?: FunctionDeclaration['cost']])[]
): FunctionDeclaration => ({
  name,
  run: run as (...args: readonly Value[]) => Value,
  ...(takenBy[name] && {takes: takenBy[name]}),
  overloads: shapes.map(([id, args, result, cost]) => overload(id, args, result, undefined, cost)),
});

/** The operators. Those that the planner implements itself are declared for the checker. */
export const operators: readonly FunctionDeclaration[] = [
  declare('_?_:_', overload('conditional', [bool, a, a], a)),
  declare('_&&_', overload('logical_and', [bool, bool], bool)),
  declare('_||_', overload('logical_or', [bool, bool], bool)),
  declare(
    '!_',
    overload('logical_not', [bool], bool, (value: Value) => (typeof value === 'boolean' ? !value : noSuchOverload)),
  ),
  declare('@not_strictly_false', {...overload('not_strictly_false', [bool], bool, (value: Value) => value !== false), takesFailures: true}),
  declare('_==_', overload('equals', [a, a], bool)),
  declare('_!=_', overload('not_equals', [a, a], bool)),
  arithmetic(
    '_+_',
    add,
    ['add_bytes', [bytes, bytes], bytes, joined],
    ['add_double', [double, double], double],
    ['add_duration_duration', [duration, duration], duration],
    ['add_duration_timestamp', [duration, timestamp], timestamp],
    ['add_timestamp_duration', [timestamp, duration], timestamp],
    ['add_int64', [int, int], int],
    ['add_list', [listOfA, listOfA], listOfA],
    ['add_string', [string, string], string, joined],
    ['add_uint64', [uint, uint], uint],
  ),
  arithmetic(
    '_/_',
    divide,
    ['divide_double', [double, double], double],
    ['divide_int64', [int, int], int],
    ['divide_uint64', [uint, uint], uint],
  ),
  arithmetic('_%_', modulo, ['modulo_int64', [int, int], int], ['modulo_uint64', [uint, uint], uint]),
  arithmetic(
    '_*_',
    multiply,
    ['multiply_double', [double, double], double],
    ['multiply_int64', [int, int], int],
    ['multiply_uint64', [uint, uint], uint],
  ),
  {
    name: '-_',
    takes: new Set(['bool', 'double', 'duration', 'int']),
    run: negate as (...args: readonly Value[]) => Value,
    overloads: [overload('negate_double', [double], double), overload('negate_int64', [int], int)],
  },
  arithmetic(
    '_-_',
    subtract,
    ['subtract_double', [double, double], double],
    ['subtract_duration_duration', [duration, duration], duration],
    ['subtract_int64', [int, int], int],
    ['subtract_timestamp_duration', [timestamp, duration], timestamp],
    ['subtract_timestamp_timestamp', [timestamp, timestamp], duration],
    ['subtract_uint64', [uint, uint], uint],
  ),
  relation('_<_', 'less', order => order < 0),
  relation('_<=_', 'less_equals', order => order <= 0),
  relation('_>_', 'greater', order => order > 0),
  relation('_>=_', 'greater_equals', order => order >= 0),
  declare('_[_]', overload('index_list', [listOfA, int], a), overload('index_map', [mapOfAB, a], b)),
  arithmetic('@in', inside, ['in_list', [a, listOfA], bool, ([, list]) => sizeOf(list!)], ['in_map', [a, mapOfAB], bool]),
];
