import type {YAMLError} from 'yaml';

/** A bracket that is still open at the end of a text, with its position. */
interface Open {
  readonly bracket: '[' | '{';
  readonly line: number;
}

/** Returns the unclosed brackets and the last significant character. Quoted texts and comments are skipped. */
const unclosed = (text: string): {open: readonly Open[]; last: string} => {
  const open: Open[] = [];
  let last = '';
  let line = 0;
  const part = /"(?:\\.|[^"\\])*"?|'(?:''|[^'])*'?|(?<=^|\s)#[^\n]*|\n|\S/gs;
  for (const [token] of text.matchAll(part)) {
    if (token === '[' || token === '{') open.push({bracket: token, line});
    else if (token === ']' || token === '}') open.pop();
    if (!token.startsWith('#') && token !== '\n') last = token;
    line += token.split('\n').length - 1;
  }
  return {open, last};
};

/** Returns the line that the original reports for the end of a text: the one after its last. */
const endOf = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);

/** The original counts lines from zero here and omits the first. */
const at = (line: number, problem: string): string => (line === 0 ? problem : `line ${line}: ${problem}`);

/** As `at`; lines of words count from one, and the first is omitted as well. */
const scanning = (line: number, problem: string): string => (line === 0 ? problem : at(line + 1, problem));

const flowProblem = (text: string): string | undefined => {
  const {open, last} = unclosed(text);
  const within = open.at(-1);
  if (!within) return undefined;
  if ('[{,:'.includes(last)) return at(endOf(text), 'did not find expected node content');
  return at(within.line || endOf(text), `did not find expected ',' or '${within.bracket === '[' ? ']' : '}'}'`);
};

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** Returns the first line of the block that a wrongly indented line interrupts. */
const blockAround = (lines: readonly string[], wrong: number): number => {
  const indent = indentOf(lines[wrong] ?? '');
  let outer = indent;
  let first = wrong;
  for (let index = wrong - 1; index >= 0; index--) {
    const line = lines[index]!;
    if (line.trim() === '') continue;
    const own = indentOf(line);
    if (own < outer && outer === indent) outer = own;
    if (own < outer) break;
    if (own === outer && own < indent) first = index;
  }
  return first === wrong ? 0 : first;
};

/**
 * Returns the original parser's text for a YAML syntax error where it can be derived from our parser's error; undefined
 * otherwise.
 */
export const yamlProblem = (text: string, error: YAMLError): string | undefined => {
  const before = text.slice(0, error.pos[0]);
  const line = before.split('\n').length - 1;
  switch (error.code) {
    case 'TAB_AS_INDENT':
    case 'BAD_SCALAR_START':
      return scanning(line, 'found character that cannot start any token');
    case 'BLOCK_AS_IMPLICIT_KEY':
      return scanning(line, 'mapping values are not allowed in this context');
    case 'MISSING_CHAR':
      if (/closing ["']quote/.test(error.message)) return `line ${(line || endOf(text)) + 1}: found unexpected end of stream`;
      return flowProblem(text);
    case 'BAD_INDENT': {
      const flow = flowProblem(text);
      if (flow !== undefined) return flow;
      const isSequence = /sequence/.test(error.message);
      return at(
        blockAround(text.split('\n'), line) || line,
        isSequence ? "did not find expected '-' indicator" : 'did not find expected key',
      );
    }
    case 'UNEXPECTED_TOKEN':
      if (text[error.pos[0]] === '-') return scanning(line, 'block sequence entries are not allowed in this context');
      return /^[\]},]/.test(text.slice(error.pos[0])) ? at(line, 'did not find expected node content') : flowProblem(text);
    default:
      return undefined;
  }
};
