import {matching, reading, traversal} from '#src/cel/values/costs.js';
import {member, overload, type CostOf, type FunctionDeclaration} from '#src/cel/check/declarations.js';
import {matches, matchesInSteps} from '#src/cel/values/regular-expressions.js';
import {regexpError} from '#src/schema/regexp.js';
import {bool, bytes, int, listOf, mapOf, param, string, type Type} from '#src/cel/values/types.js';
import {Bytes, ListValue, MapValue, noSuchOverload, sizeOf, type Value} from '#src/cel/values/values.js';

const sized: readonly (readonly [string, Type])[] = [
  ['bytes', bytes],
  ['list', listOf(param('A'))],
  ['map', mapOf(param('A'), param('B'))],
  ['string', string],
];

const hasSize = (value: Value): boolean =>
  typeof value === 'string' || value instanceof ListValue || value instanceof MapValue || value instanceof Bytes;

const target = reading();

/** A function of two strings. */
const ofTwo = (name: string, id: string, run: (left: string, right: string) => boolean, cost: CostOf): FunctionDeclaration => ({
  name,
  overloads: [member(id, [string, string], bool, undefined, cost)],
  run: (left, right) => (typeof left === 'string' && typeof right === 'string' ? run(left, right) : noSuchOverload),
});

/** String functions, and `size` of all sized values. */
export const text: readonly FunctionDeclaration[] = [
  {
    name: 'size',
    overloads: sized.flatMap(([id, type]) => [overload(`size_${id}`, [type], int), member(`${id}_size`, [type], int)]),
    takes: new Set(['bytes', 'list', 'map', 'string']),
    run: value => (hasSize(value!) ? BigInt(sizeOf(value!)) : noSuchOverload),
  },
  ofTwo(
    'contains',
    'contains_string',
    (whole, part) => whole.includes(part),
    ([whole, part]) => traversal(sizeOf(whole!)) * traversal(sizeOf(part!)),
  ),
  ofTwo('endsWith', 'ends_with_string', (whole, end) => whole.endsWith(end), target),
  ofTwo('startsWith', 'starts_with_string', (whole, start) => whole.startsWith(start), target),
  {
    name: 'matches',
    overloads: [overload('matches', [string, string], bool), member('matches_string', [string, string], bool, undefined, matching)],
    takes: new Set(['string']),
    run: (whole, pattern) => (typeof whole === 'string' && typeof pattern === 'string' ? matches(whole, pattern) : noSuchOverload),
    inSteps: (whole, pattern) => (typeof whole === 'string' && typeof pattern === 'string' ? matchesInSteps(whole, pattern) : undefined),
    pattern: {index: 1, error: regexpError},
  },
];
