import {matching, reading, traversal} from '#src/cel/costs.js';
import {declare, member, overload, type FunctionDeclaration} from '#src/cel/declarations.js';
import {complaintOf, matches} from '#src/cel/patterns.js';
import {bool, bytes, int, listOf, mapOf, param, string, type Type} from '#src/cel/types.js';
import {Bytes, ListValue, MapValue, noSuchOverload, sizeOf, type Value} from '#src/cel/values.js';

const sized: readonly (readonly [string, Type])[] = [['bytes', bytes], ['list', listOf(param('A'))], ['map', mapOf(param('A'), param('B'))], ['string', string]];

const hasSize = (value: Value): boolean => typeof value === 'string' || value instanceof ListValue || value instanceof MapValue || value instanceof Bytes;

const target = reading();

/** What strings, and all that has a size, can do without any library. */
export const text: readonly FunctionDeclaration[] = [
  {
    name: 'size',
    overloads: sized.flatMap(([id, type]) => [overload(`size_${id}`, [type], int), member(`${id}_size`, [type], int)]),
    run: value => (hasSize(value!) ? BigInt(sizeOf(value!)) : noSuchOverload),
  },
  declare(
    'contains',
    member('contains_string', [string, string], bool, (whole: string, part: string) => whole.includes(part), ([whole, part]) => traversal(sizeOf(whole!)) * traversal(sizeOf(part!))),
  ),
  declare('endsWith', member('ends_with_string', [string, string], bool, (whole: string, end: string) => whole.endsWith(end), target)),
  declare('startsWith', member('starts_with_string', [string, string], bool, (whole: string, start: string) => whole.startsWith(start), target)),
  {
    name: 'matches',
    overloads: [overload('matches', [string, string], bool), member('matches_string', [string, string], bool, undefined, matching)],
    run: (whole, pattern) => (typeof whole === 'string' && typeof pattern === 'string' ? matches(whole, pattern) : noSuchOverload),
    pattern: {index: 1, complaint: complaintOf},
  },
];
