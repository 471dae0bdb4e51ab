import {characters} from './values.js';

/** What is wrong with an expression, and where: line from 1, column from 0, both in characters. Line -1 means nowhere in particular. */
export interface Problem {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** A line longer than this is not shown. */
const maxSnippetLength = 16_384;

/** How many problems of one expression are told. */
const maxProblems = 100;

const lineBreak = /\n/g;

/** Where a position given in UTF-16 units is, or nowhere for -1. */
export const locate = (text: string, offset: number): {readonly line: number; readonly column: number} => {
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

/** A problem at a position given in UTF-16 units. */
export const problemAt = (text: string, offset: number, message: string): Problem => ({message, ...locate(text, offset)});

const truncatedProblem: Problem = {message: '', line: -1, column: -1};

/** Adds a problem to those there are. Of more than are told only the number counts, so that their places are not looked for. */
export const addProblem = (problems: Problem[], text: string, offset: number, message: string): void => {
  problems.push(problems.length < maxProblems ? problemAt(text, offset, message) : truncatedProblem);
};

/** How deeply any one form may nest, as the original's. */
export const maxDepth = 250;

export const tooDeep = (text: string): Problem => problemAt(text, -1, `expression recursion limit exceeded: ${maxDepth}`);

const isWide = (character: string | undefined): boolean => character !== undefined && character.codePointAt(0)! > 0x7f;

const formatProblem = (text: string, {message, line, column}: Problem): string => {
  const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
  const source = line < 1 ? undefined : text.split('\n')[line - 1];
  if (source === undefined || source.length > maxSnippetLength) return head;
  const snippet = source.replaceAll('\t', ' ');
  const shown = [...snippet];
  const dots = shown.slice(0, column).map(character => (isWide(character) ? '．' : '.'));
  return `${head}\n | ${snippet}\n | ${dots.join('')}${isWide(shown[column]) ? '＾' : '^'}`;
};

/** The text of all problems as the original prints it: in the order of the text, each with its line and a caret. */
export const formatProblems = (text: string, problems: readonly Problem[]): string => {
  const shown = problems.slice(0, maxProblems).toSorted((left, right) => left.line - right.line || left.column - right.column);
  const more = problems.length - shown.length;
  return [...shown.map(problem => formatProblem(text, problem)), ...(more > 0 ? [`${more} more errors were truncated`] : [])].join('\n');
};
