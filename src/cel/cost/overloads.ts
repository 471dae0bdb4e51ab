import {bool, bytes, double, duration, int, string, timestamp, uint} from '#src/cel/values/types.js';
import {
  coveringRange,
  unbounded,
  exactly,
  one,
  perCharacter,
  perList,
  perPatternCharacter,
  scaled,
  sum,
  times,
  type CallEstimate,
  type EstimatedNode,
  type EstimateOf,
  type Range,
} from '#src/cel/check/range.js';

const known = ({size}: EstimatedNode): Range => size ?? {min: 0, max: unbounded};

const reading = (range: Range): Range => scaled(range, perCharacter);

/** The cost of reading the only argument. */
const readsFirst: EstimateOf = ({args}) => (args.length === 1 ? {cost: reading(known(args[0]!))} : undefined);

const concatenation: EstimateOf = ({args: [left, right]}) => {
  if (!left || !right) return undefined;
  const size = sum(known(left), known(right));
  return {cost: reading(size), size};
};

/** A comparison costs as much as reading the shorter operand. */
const comparison: EstimateOf = ({args: [left, right]}) => {
  const max = Math.min(known(left!).max, known(right!).max);
  return {cost: reading({min: max > 0 ? 1 : 0, max})};
};

/** The cost of allocating a list of `size` elements with `perElement` steps each. */
const allocation = (perElement: number, size: Range): CallEstimate => ({cost: sum(scaled(size, perElement), one, exactly(perList)), size});

const literalInt = ({expr}: EstimatedNode, otherwise: number): number => {
  if (expr?.kind !== 'literal' || typeof expr.value !== 'bigint') return otherwise;
  return expr.value < 0n ? 0 : Number(expr.value);
};

/** The cost of comparing every element with every other. */
const pairwise = (size: Range, isText: boolean): CallEstimate => allocation(isText ? 2 + perCharacter : 2, times(size, size));

const setComparison =
  (factor: number): EstimateOf =>
  ({args: [left, right], sizeOf}) => ({cost: sum(scaled(times(sizeOf(left!), sizeOf(right!)), factor), one)});

const comparedAs = [int, uint, double, bool, duration, timestamp, string, bytes].map(({name}) => name);
const isText = (type: string): boolean => type === 'string' || type === 'bytes';

const sorting: readonly (readonly [string, EstimateOf])[] = comparedAs.flatMap(type => [
  [
    `list_${type}_sort`,
    ({target, args, sizeOf}) => (target && args.length === 0 ? pairwise(sizeOf(target), isText(type)) : undefined),
  ] as const,
  [
    `list_${type}_sortByAssociatedKeys`,
    ({target, args, sizeOf}) => (target && args.length === 1 ? pairwise(sizeOf(args[0]!), isText(type)) : undefined),
  ] as const,
]);

const flattening: EstimateOf = ({target, args, sizeOf}) =>
  target && allocation(args[0] ? literalInt(args[0], unbounded) : 1, sizeOf(target));

const ordered = ['less', 'less_equals', 'greater', 'greater_equals'].flatMap(word => [`${word}_string`, `${word}_bytes`]);

/** Estimates of the extension libraries' overloads. They take precedence over all others. */
export const libraryEstimates: ReadonlyMap<string, EstimateOf> = new Map<string, EstimateOf>([
  ['list_sets_contains_list', setComparison(1)],
  ['list_sets_intersects_list', setComparison(1)],
  ['list_sets_equivalent_list', setComparison(2)],
  [
    'list_slice',
    ({target, args: [start, end], sizeOf}) => {
      if (!target || !start || !end) return undefined;
      const count = literalInt(end, sizeOf(target).max) - literalInt(start, 0);
      return allocation(1, exactly(count < 0 ? unbounded : count));
    },
  ],
  ['list_flatten', flattening],
  ['list_flatten_int', flattening],
  ['lists_range', ({args}) => allocation(1, exactly(literalInt(args[0]!, unbounded)))],
  ['list_reverse', ({target, sizeOf}) => target && allocation(1, sizeOf(target))],
  ['list_distinct', ({target, sizeOf}) => target && allocation(2, times(sizeOf(target), sizeOf(target)))],
  ...sorting,
]);

/** Estimates of the standard overloads that do not cost one. */
export const standardEstimates: ReadonlyMap<string, EstimateOf> = new Map<string, EstimateOf>([
  ['string_format', ({target}) => target && {cost: reading(known(target))}],
  [
    'string_to_bytes',
    ({args}) => {
      const {min, max} = known(args[0]!);
      return {cost: reading({min, max}), size: {min, max: Math.min(max * 4, unbounded)}};
    },
  ],
  [
    'bytes_to_string',
    ({args}) => {
      const {min, max} = known(args[0]!);
      return {cost: reading({min, max}), size: {min: Math.floor(min / 4), max}};
    },
  ],
  [
    'strings_quote',
    ({args}) => {
      const {min, max} = known(args[0]!);
      return {cost: reading({min, max}), size: {min: min + 2, max: Math.min(max * 2 + 2, unbounded)}};
    },
  ],
  ['starts_with_string', readsFirst],
  ['ends_with_string', readsFirst],
  ['in_list', ({args}) => (args.length === 2 ? {cost: known(args[1]!)} : undefined)],
  [
    'matches_string',
    ({target, args}) => target && args[0] && {cost: times(reading(sum(known(target), one)), scaled(known(args[0]), perPatternCharacter))},
  ],
  ['contains_string', ({target, args}) => target && args[0] && {cost: times(reading(known(target)), reading(known(args[0])))}],
  ['add_string', concatenation],
  ['add_bytes', concatenation],
  ['add_list', ({args: [left, right]}) => left && right && {cost: one, size: sum(known(left), known(right))}],
  ...['equals', 'not_equals', ...ordered].map(id => [id, comparison] as const),
]);

/** The size of `a ? b : c`: the range that covers both branches. */
export const chosenSize = (whenTrue: EstimatedNode, whenFalse: EstimatedNode): Range => coveringRange(known(whenTrue), known(whenFalse));
