import type {Expr} from '#src/cel/syntax/ast.js';
import {formatKey} from '#src/cel/run/attributes.js';
import {declare, overload, type Library} from '#src/cel/check/declarations.js';
import {accumulator, variableName, MacroError, quantifiers, result, type Macro, type ExprFactory} from '#src/cel/syntax/macros.js';
import {GrowingMap, NativeMap} from '#src/cel/values/native.js';
import {mapOf, param} from '#src/cel/values/types.js';
import {Failure, type MapValue, type Value} from '#src/cel/values/values.js';

const k = param('K');
const v = param('V');
const map = mapOf(k, v);

const variables = (first: Expr, second: Expr): {readonly variable: string; readonly variable2: string} => {
  const message = 'argument must be a simple name';
  const [variable, variable2] = [variableName(first, message), variableName(second, message)];
  if (variable === variable2) throw new MacroError(second, `duplicate variable name: ${variable}`);
  return {variable, variable2};
};

const quantifier = (name: string, kind: keyof typeof quantifiers): Macro => ({
  name,
  isMember: true,
  arity: 3,
  expand: (make, [first, second, predicate], target) => {
    const {init, condition, step, result: end} = quantifiers[kind];
    return make.fold({
      range: target!,
      ...variables(first!, second!),
      accumulator,
      init: init(make),
      condition: condition(make),
      step: step(make, predicate!),
      result: end(make),
    });
  },
});

/** Declares a transform macro in two forms: without a filter, and with a filter before the transformation. */
const transformMacros = (
  name: string,
  init: (make: ExprFactory) => Expr,
  step: (make: ExprFactory, transformed: Expr, key: string) => Expr,
): readonly Macro[] =>
  [3, 4].map(arity => ({
    name,
    isMember: true,
    arity,
    expand: (make, args, target) => {
      const declared = variables(args[0]!, args[1]!);
      const transformed = step(make, args.at(-1)!, declared.variable);
      const filtered = arity === 4 ? make.call('_?_:_', args[2]!, transformed, result(make)) : transformed;
      return make.fold({
        range: target!,
        ...declared,
        accumulator,
        init: init(make),
        condition: make.literal(true),
        step: filtered,
        result: result(make),
      });
    },
  }));

/** Returns the map with an entry added. A comprehension's accumulator is changed in place. */
const insert = (into: MapValue, key: Value, value: Value): Value => {
  if (into.find(key) !== undefined) return new Failure(`insert failed: key ${formatKey(key)} already exists`);
  const result = into instanceof GrowingMap ? into : new NativeMap();
  if (result !== into) for (const known of into.keys()) result.put(known, into.find(known)!);
  return result.put(key, value) ?? result;
};

const insertAll = (into: MapValue, added: MapValue): Value => {
  let result: MapValue = into;
  for (const key of added.keys()) {
    const next = insert(result, key, added.find(key)!);
    if (next instanceof Failure) return next;
    result = next as MapValue;
  }
  return result;
};

/**
 * The two-variable comprehensions: `all`, `exists` and others over indices and elements or keys and values, and
 * `transformList`, `transformMap`.
 */
export const twoVariables: Library = {
  name: 'two-variables',
  functions: [
    declare(
      'cel.@mapInsert',
      overload('@mapInsert_map_key_value', [map, k, v], map, insert),
      overload('@mapInsert_map_map', [map, map], map, insertAll),
    ),
  ],
  macros: [
    quantifier('all', 'all'),
    quantifier('exists', 'exists'),
    quantifier('existsOne', 'existsOne'),
    quantifier('exists_one', 'existsOne'),
    ...transformMacros(
      'transformList',
      make => make.list(),
      (make, transformed) => make.call('_+_', result(make), make.list(transformed)),
    ),
    ...transformMacros(
      'transformMap',
      make => make.map(),
      (make, transformed, key) => make.call('cel.@mapInsert', result(make), make.ident(key), transformed),
    ),
    ...transformMacros(
      'transformMapEntry',
      make => make.map(),
      (make, transformed) => make.call('cel.@mapInsert', result(make), transformed),
    ),
  ],
};
