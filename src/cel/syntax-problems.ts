import {problemAt, type Problem} from './problem.js';
import type {Token, Unrecognised} from './tokens.js';

const shown = (text: string): string => text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');

/** What breaks the grammar. */
export const syntaxProblems = (text: string, tokens: readonly Token[], unrecognised: readonly Unrecognised[], at: number): Problem[] => {
  const skipped = unrecognised.map(({start, text: odd}) => problemAt(text, start, `Syntax error: token recognition error at: '${shown(odd)}'`));
  const token = tokens[at]!;
  const input = token.kind === 'EOF' ? '<EOF>' : shown(text.slice(token.start, token.end));
  return [...skipped, ...(skipped.length > 0 && token.kind === 'EOF' ? [] : [problemAt(text, token.start, `Syntax error: mismatched input '${input}'`)])];
};
