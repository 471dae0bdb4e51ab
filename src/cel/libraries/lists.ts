import {compare, equal} from '#src/cel/values/compare.js';
import {declare, member, overload, type CostOf, type Library} from '#src/cel/check/declarations.js';
import {accumulator, bindVariable, MacroError, result, variableName, type Macro} from '#src/cel/syntax/macros.js';
import {joined, NativeList} from '#src/cel/values/native.js';
import {spend} from '#src/cel/values/work.js';
import {bool, bytes, double, duration, dyn, int, listOf, param, string, timestamp, uint} from '#src/cel/values/types.js';
import {Bytes, Failure, ListValue, noSuchOverload, sizeOf, typeOfValue, type Value} from '#src/cel/values/values.js';

const list = listOf(param('T'));
const comparable = [int, uint, double, bool, duration, timestamp, string, bytes];

/** `lists.range`. Elements are computed on access, so that a range beyond the cost limit is never allocated. */
class Range extends ListValue {
  readonly size: number;

  constructor(size: number) {
    super();
    this.size = size;
  }

  at(index: number): Value {
    return BigInt(index);
  }

  concat(other: ListValue): Value {
    return joined(this, other);
  }

  equals(other: Value): Value {
    return new NativeList([...this]).equals(other);
  }
}

const slice = (from: ListValue, start: bigint, end: bigint): Value => {
  const attempt = `cannot slice(${start}, ${end})`;
  if (start < 0n || end < 0n) return new Failure(`${attempt}, negative indexes not supported`);
  if (start > end) return new Failure(`${attempt}, start index must be less than or equal to end index`);
  if (end > BigInt(from.size)) return new Failure(`${attempt}, list is length ${from.size}`);
  spend(Number(end - start));
  return new NativeList(Array.from({length: Number(end - start)}, (_, index) => from.at(Number(start) + index)));
};

function* flat(values: ListValue, depth: number): Generator<Value> {
  for (const value of values) {
    spend(1);
    if (value instanceof ListValue && depth > 0) yield* flat(value, depth - 1);
    else yield value;
  }
}

const flatten = (values: ListValue, depth: bigint): Value =>
  depth < 0n ? new Failure('level must be non-negative') : new NativeList([...flat(values, Number(depth))]);

const reversed = (values: ListValue): Value => {
  spend(values.size);
  return new NativeList([...values].toReversed());
};

const distinct = (values: ListValue): Value => {
  const found: Value[] = [];
  for (const value of values) {
    spend(found.length);
    if (!found.some(other => equal(value, other) === true)) found.push(value);
  }
  return new NativeList(found);
};

const sortedBy = (values: ListValue, keys: ListValue): Value => {
  if (values.size !== keys.size) {
    return new Failure(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${values.size} and ${keys.size} elements respectively`,
    );
  }
  if (values.size === 0) return values;
  spend(values.size);
  const type = typeOfValue(keys.at(0));
  if (!comparable.includes(type)) return new Failure('list elements must be comparable');
  const pairs = [...values].map((value, index) => ({value, key: keys.at(index)}));
  if (pairs.some(({key}) => typeOfValue(key) !== type)) return new Failure('list elements must have the same type');
  return new NativeList(pairs.toSorted((left, right) => Number(compare(left.key, right.key))).map(({value}) => value));
};

const listCost = 10;
const allocating = (factor: number, size: number): number => Math.floor(factor * size) + 1 + listCost;

const ofResult: CostOf = (_, made) => allocating(1, sizeOf(made));

/** The cost of comparing every element with every other. */
const selfCompared = (values: Value): number => {
  if (!(values instanceof ListValue)) return 1;
  const [first] = values;
  const factor = typeof first === 'string' || first instanceof Bytes ? 2.1 : 2;
  return allocating(factor, values.size * values.size);
};

const sortBy: Macro = {
  name: 'sortBy',
  isMember: true,
  arity: 2,
  expand: (make, [declared, key], target) => {
    if (target!.kind === 'literal' || target!.kind === 'map' || target!.kind === 'struct') {
      throw new MacroError(target!, 'sortBy can only be applied to a list, identifier, comprehension, call or select expression');
    }
    const input = '@__sortBy_input__';
    const variable = variableName(declared!, 'argument is not an identifier');
    const keys = make.fold({
      range: make.ident(input),
      variable,
      accumulator,
      init: make.list(),
      condition: make.literal(true),
      step: make.call('_+_', result(make), make.list(key!)),
      result: result(make),
    });
    return bindVariable(make, input, target!, make.member('@sortByAssociatedKeys', make.ident(input), keys));
  },
};

/** The list library. */
export const lists: Library = {
  name: 'lists',
  macros: [sortBy],
  functions: [
    declare('slice', member('list_slice', [list, int, int], list, slice, ofResult)),
    // Accepts values whose element type is not known to be a list.
    {
      ...declare(
        'flatten',
        member('list_flatten', [listOf(list)], list, undefined, ([values]) => allocating(1, sizeOf(values!))),
        member('list_flatten_int', [listOf(dyn), int], listOf(dyn), undefined, ([values, depth]) =>
          allocating(Number(depth), sizeOf(values!)),
        ),
      ),
      run: (values, depth = 1n) => (values instanceof ListValue && typeof depth === 'bigint' ? flatten(values, depth) : noSuchOverload),
    },
    {
      name: 'sort',
      overloads: comparable.map(type =>
        member(`list_${type.name}_sort`, [listOf(type)], listOf(type), undefined, ([values]) => selfCompared(values!)),
      ),
      run: values => (values instanceof ListValue ? sortedBy(values, values) : noSuchOverload),
    },
    {
      name: '@sortByAssociatedKeys',
      overloads: comparable.map(type =>
        member(`list_${type.name}_sortByAssociatedKeys`, [list, listOf(type)], list, undefined, ([, keys]) => selfCompared(keys!)),
      ),
      run: (values, keys) => (values instanceof ListValue && keys instanceof ListValue ? sortedBy(values, keys) : noSuchOverload),
    },
    declare(
      'lists.range',
      overload('lists_range', [int], listOf(int), (size: bigint) => new Range(size > 0n ? Number(size) : 0), ofResult),
    ),
    declare('reverse', member('list_reverse', [list], list, reversed, ofResult)),
    declare(
      'distinct',
      member('list_distinct', [list], list, distinct, ([values]) => selfCompared(values!)),
    ),
  ],
};
