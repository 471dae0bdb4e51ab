import {declare, member, type FunctionDeclaration, type Library} from '#src/cel/check/declarations.js';
import {NativeList} from '#src/cel/values/native.js';
import {regexpError, matchesIn} from '#src/cel/values/regular-expressions.js';
import {int, listOf, string} from '#src/cel/values/types.js';
import {Failure, type Value} from '#src/cel/values/values.js';

const matchResult = (text: string, pattern: string, limit: number, made: (matches: readonly string[]) => Value): Value => {
  const error = regexpError(pattern);
  return error === undefined ? made(matchesIn(text, pattern, limit)) : new Failure(`Illegal regex: ${error}`);
};

const all = (text: string, pattern: string, limit = -1n): Value =>
  matchResult(text, pattern, Number(limit), matches => new NativeList(matches));

const withPattern = (declaration: FunctionDeclaration): FunctionDeclaration => ({...declaration, pattern: {index: 1, error: regexpError}});

/** The regular expression library. */
export const regex: Library = {
  name: 'kubernetes.regex',
  functions: [
    withPattern(
      declare(
        'find',
        member('string_find_string', [string, string], string, (text: string, pattern: string) =>
          matchResult(text, pattern, 1, ([first = '']) => first),
        ),
      ),
    ),
    withPattern(
      declare(
        'findAll',
        member('string_find_all_string', [string, string], listOf(string), (text: string, pattern: string) => all(text, pattern)),
        member('string_find_all_string_int', [string, string, int], listOf(string), all),
      ),
    ),
  ],
};
