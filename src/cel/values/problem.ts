// Problems of an expression with positions, and their text as upstream formats it. Shared by the parsers and the
// checker.

import {characters} from './values.js';

/** An error in an expression with its position: line from 1, column from 0 in characters. Line -1 means no position. */
export interface Problem {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** Longer lines are not shown in messages. */
const maxSnippetLength = 16_384;

/** The maximum number of problems reported for one expression. */
const maxProblems = 100;

const lineBreak = /\n/g;

/** Returns the position of a UTF-16 offset, or -1 for offset -1. */
const locate = (text: string, offset: number): {readonly line: number; readonly column: number} => {
  if (offset < 0) return {line: -1, column: -1};
  let line = 1;
  let start = 0;
  lineBreak.lastIndex = 0;
  for (let match = lineBreak.exec(text); match && match.index < offset; match = lineBreak.exec(text)) {
    line += 1;
    start = match.index + 1;
  }
  return {line, column: characters(text.slice(start, offset))};
};

/** Returns a problem at a UTF-16 offset. */
export const problemAt = (text: string, offset: number, message: string): Problem => ({message, ...locate(text, offset)});

const truncatedProblem: Problem = {message: '', line: -1, column: -1};

/** Adds a problem. Beyond the maximum only the number is counted and no position is computed. */
export const addProblem = (problems: Problem[], text: string, offset: number, message: string): void => {
  problems.push(problems.length < maxProblems ? problemAt(text, offset, message) : truncatedProblem);
};

/** The maximum nesting depth, as upstream's. */
export const maxDepth = 250;

export const tooDeep = (text: string): Problem => problemAt(text, -1, `expression recursion limit exceeded: ${maxDepth}`);

const isWide = (character: string | undefined): boolean => character !== undefined && character.codePointAt(0)! > 0x7f;

const formatProblem = (text: string, {message, line, column}: Problem): string => {
  // An empty text has no line to show.
  if (text === '') return `ERROR: <input>:${line}:${column}: ${message}`;
  const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
  const source = line < 1 ? undefined : text.split('\n')[line - 1];
  if (source === undefined || source.length > maxSnippetLength) return head;
  const snippet = source.replaceAll('\t', ' ');
  const shown = [...snippet];
  const dots = shown.slice(0, column).map(character => (isWide(character) ? '．' : '.'));
  return `${head}\n | ${snippet}\n | ${dots.join('')}${isWide(shown[column]) ? '＾' : '^'}`;
};

/** Formats all problems as upstream does: in text order, each with its line and a caret. */
export const formatProblems = (text: string, problems: readonly Problem[]): string => {
  const shown = problems.slice(0, maxProblems).toSorted((left, right) => left.line - right.line || left.column - right.column);
  const more = problems.length - shown.length;
  return [...shown.map(problem => formatProblem(text, problem)), ...(more > 0 ? [`${more} more errors were truncated`] : [])].join('\n');
};
