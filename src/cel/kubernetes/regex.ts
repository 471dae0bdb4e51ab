import {declare, member, type FunctionDeclaration, type Library} from '#src/cel/declarations.js';
import {NativeList} from '#src/cel/native.js';
import {complaintOf, matchesIn} from '#src/cel/patterns.js';
import {int, listOf, string} from '#src/cel/types.js';
import {Failure, type Value} from '#src/cel/values.js';

const found = (text: string, pattern: string, most: number, made: (matches: readonly string[]) => Value): Value => {
  const complaint = complaintOf(pattern);
  return complaint === undefined ? made(matchesIn(text, pattern, most)) : new Failure(`Illegal regex: ${complaint}`);
};

const all = (text: string, pattern: string, most = -1n): Value => found(text, pattern, Number(most), matches => new NativeList(matches));

const byPattern = (declaration: FunctionDeclaration): FunctionDeclaration => ({...declaration, pattern: {index: 1, complaint: complaintOf}});

/** What a pattern finds in a text. */
export const regex: Library = {
  name: 'kubernetes.regex',
  functions: [
    byPattern(declare('find', member('string_find_string', [string, string], string, (text: string, pattern: string) => found(text, pattern, 1, ([first = '']) => first)))),
    byPattern(declare(
      'findAll',
      member('string_find_all_string', [string, string], listOf(string), (text: string, pattern: string) => all(text, pattern)),
      member('string_find_all_string_int', [string, string, int], listOf(string), all),
    )),
  ],
};
