import {declare, member, type FunctionDeclaration, type Library} from '#src/cel/check/declarations.js';
import {regexpError} from '#src/schema/regexp.js';
import {NativeList} from '#src/cel/values/native.js';
import {allMatches, allMatchesInSteps, type Matches} from '#src/cel/values/regular-expressions.js';
import {int, listOf, string} from '#src/cel/values/types.js';
import {Failure, type Value} from '#src/cel/values/values.js';

const resultOf = (matches: Matches, made: (matches: readonly string[]) => Value): Value =>
  'error' in matches ? new Failure(`Illegal regex: ${matches.error}`) : made(matches);

const first = ([match = '']: readonly string[]): Value => match;
const all = (matches: readonly string[]): Value => new NativeList(matches);

const findAll = (text: string, pattern: string, limit = -1n): Value => resultOf(allMatches(text, pattern, Number(limit)), all);

/** Adds the validation of the pattern, and the implementation in steps. */
const withPattern = (
  declaration: FunctionDeclaration,
  most: (limit: Value | undefined) => number,
  made: (matches: readonly string[]) => Value,
): FunctionDeclaration => ({
  ...declaration,
  pattern: {index: 1, error: regexpError},
  inSteps(text, pattern, limit) {
    if (typeof text !== 'string' || typeof pattern !== 'string' || (limit !== undefined && typeof limit !== 'bigint')) return undefined;
    const matching = allMatchesInSteps(text, pattern, most(limit));
    return (function* () {
      return resultOf(yield* matching, made);
    })();
  },
});

/** The regular expression library. */
export const regex: Library = {
  name: 'kubernetes.regex',
  functions: [
    withPattern(
      declare(
        'find',
        member('string_find_string', [string, string], string, (text: string, pattern: string) =>
          resultOf(allMatches(text, pattern, 1), first),
        ),
      ),
      () => 1,
      first,
    ),
    withPattern(
      declare(
        'findAll',
        member('string_find_all_string', [string, string], listOf(string), (text: string, pattern: string) => findAll(text, pattern)),
        member('string_find_all_string_int', [string, string, int], listOf(string), findAll),
      ),
      limit => (typeof limit === 'bigint' ? Number(limit) : -1),
      all,
    ),
  ],
};
