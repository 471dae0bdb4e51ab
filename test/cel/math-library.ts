// The math extension of CEL, which Kubernetes does not offer: the conformance suite runs it to test macros and
// overloads.

import type {Expr} from '#src/cel/syntax/ast.js';
import {compare} from '#src/cel/values/compare.js';
import {declare, overload, type FunctionDeclaration, type Implementation, type Library} from '#src/cel/check/declarations.js';
import {MacroError, type Macro} from '#src/cel/syntax/macros.js';
import {checkedInt} from '#src/cel/values/numbers.js';
import {bool, double, dyn, int, listOf, uint, type Type} from '#src/cel/values/types.js';
import {Failure, Uint, type ListValue, type Value} from '#src/cel/values/values.js';

const numbers: readonly (readonly [string, Type])[] = [
  ['double', double],
  ['int', int],
  ['uint', uint],
];

const isNumeric = (expr: Expr): boolean => {
  if (expr.kind === 'literal') return typeof expr.value === 'bigint' || typeof expr.value === 'number' || expr.value instanceof Uint;
  return expr.kind !== 'list' && expr.kind !== 'map' && expr.kind !== 'struct';
};

const isNumericList = (expr: Expr): boolean => expr.kind === 'list' && expr.elements.length > 0 && expr.elements.every(isNumeric);

/** The macros `math.least(a, b, ...)` and `math.greatest`, which take any number of arguments. */
const minMaxMacro = (name: string, inner: string): Macro => ({
  name,
  isMember: true,
  expand: (make, args, target) => {
    if (target?.kind !== 'ident' || target.name !== 'math') return undefined;
    if (args.length === 0) throw new MacroError(target, `math.${name}() requires at least one argument`);
    if (args.length === 1) {
      if (!isNumeric(args[0]!) && !isNumericList(args[0]!)) throw new MacroError(args[0]!, `math.${name}() invalid single argument value`);
      return make.call(inner, args[0]!);
    }
    const invalid = args.find(arg => !isNumeric(arg));
    if (invalid) throw new MacroError(invalid, `math.${name}() simple literal arguments must be numeric`);
    return args.length === 2 ? make.call(inner, ...args) : make.call(inner, make.list(...args));
  },
});

/**
 * Declares the overloads of `math.least` and `math.greatest`: one number, two numbers of any types, and lists.
 * `replaces` returns whether the second operand is taken.
 */
const minMaxFunction = (name: string, replaces: (order: number) => boolean): FunctionDeclaration => {
  const pair = (left: Value, right: Value): Value => {
    const order = compare(left, right);
    if (order instanceof Failure) return order.message === 'no such overload' ? new Failure(`no such overload: ${name}`) : order;
    return replaces(order) ? right : left;
  };
  const ofList = (values: ListValue): Value => {
    if (values.size === 0) return new Failure(`${name}(list) argument must not be empty`);
    let best = values.at(0);
    for (const value of values) {
      best = pair(best, value);
      if (best instanceof Failure) return best;
    }
    return typeof best === 'bigint' || typeof best === 'number' || best instanceof Uint ? best : new Failure(`no such overload: ${name}`);
  };
  const id = name.replace('.', '_');
  return declare(
    name,
    ...numbers.map(([word, type]) => overload(`${id}_${word}`, [type], type, (value: Value) => value)),
    ...numbers.flatMap(([left, leftType]) =>
      numbers.map(([right, rightType]) =>
        overload(`${id}_${left}_${right}`, [leftType, rightType], leftType === rightType ? leftType : dyn, pair),
      ),
    ),
    ...numbers.map(([word, type]) => overload(`${id}_list_${word}`, [listOf(type)], type, ofList)),
  );
};

const ofDouble = (name: string, result: Type, run: Implementation): FunctionDeclaration =>
  declare(`math.${name}`, overload(`math_${name}_double`, [double], result, run));

/** Rounds halves away from zero. */
const round = (value: number): number => (Number.isFinite(value) ? Math.sign(value) * Math.floor(Math.abs(value) + 0.5) : value);

const wrapInt = (value: bigint): bigint => BigInt.asIntN(64, value);
const wrapUint = (value: bigint): Uint => new Uint(BigInt.asUintN(64, value));

const bitwise = (name: string, act: (left: bigint, right: bigint) => bigint): FunctionDeclaration =>
  declare(
    `math.${name}`,
    overload(`math_${name}_int_int`, [int, int], int, (left: bigint, right: bigint) => wrapInt(act(left, right))),
    overload(`math_${name}_uint_uint`, [uint, uint], uint, (left: Uint, right: Uint) => wrapUint(act(left.value, right.value))),
  );

const most = 64n;

/** Shifts the bits of an int like those of a uint. Offsets above 64 shift all bits out. */
const shift = (name: string, act: (value: bigint, bits: bigint) => bigint): FunctionDeclaration => {
  const guarded = (bits: bigint, made: () => Value): Value => (bits < 0n ? new Failure(`math.${name}() negative offset: ${bits}`) : made());
  const capped = (bits: bigint): bigint => (bits > most ? most : bits);
  return declare(
    `math.${name}`,
    overload(`math_${name}_int_int`, [int, int], int, (value: bigint, bits: bigint) =>
      guarded(bits, () => wrapInt(act(BigInt.asUintN(64, value), capped(bits)))),
    ),
    overload(`math_${name}_uint_int`, [uint, int], uint, ({value}: Uint, bits: bigint) =>
      guarded(bits, () => wrapUint(act(value, capped(bits)))),
    ),
  );
};

const functions: readonly FunctionDeclaration[] = [
  minMaxFunction('math.@min', order => order > 0),
  minMaxFunction('math.@max', order => order < 0),
  ofDouble('ceil', double, Math.ceil),
  ofDouble('floor', double, Math.floor),
  ofDouble('round', double, round),
  ofDouble('trunc', double, Math.trunc),
  ofDouble('isInf', bool, (value: number) => Math.abs(value) === Number.POSITIVE_INFINITY),
  ofDouble('isNaN', bool, Number.isNaN),
  ofDouble('isFinite', bool, Number.isFinite),
  declare(
    'math.abs',
    overload('math_abs_double', [double], double, Math.abs),
    overload('math_abs_int', [int], int, (value: bigint) => (value < 0n ? checkedInt(-value) : value)),
    overload('math_abs_uint', [uint], uint, (value: Uint) => value),
  ),
  declare(
    'math.sign',
    overload('math_sign_double', [double], double, (value: number) => (value === 0 ? 0 : Math.sign(value))),
    overload('math_sign_int', [int], int, (value: bigint) => (value > 0n ? 1n : value < 0n ? -1n : 0n)),
    overload('math_sign_uint', [uint], uint, ({value}: Uint) => new Uint(value === 0n ? 0n : 1n)),
  ),
  declare(
    'math.sqrt',
    overload('math_sqrt_double', [double], double, Math.sqrt),
    overload('math_sqrt_int', [int], double, (value: bigint) => Math.sqrt(Number(value))),
    overload('math_sqrt_uint', [uint], double, ({value}: Uint) => Math.sqrt(Number(value))),
  ),
  bitwise('bitAnd', (left, right) => left & right),
  bitwise('bitOr', (left, right) => left | right),
  bitwise('bitXor', (left, right) => left ^ right),
  declare(
    'math.bitNot',
    overload('math_bitNot_int_int', [int], int, (value: bigint) => wrapInt(~value)),
    overload('math_bitNot_uint_uint', [uint], uint, ({value}: Uint) => wrapUint(~value)),
  ),
  shift('bitShiftLeft', (value, bits) => value << bits),
  shift('bitShiftRight', (value, bits) => value >> bits),
];

/** The math library. */
export const math: Library = {name: 'math', functions, macros: [minMaxMacro('least', 'math.@min'), minMaxMacro('greatest', 'math.@max')]};
