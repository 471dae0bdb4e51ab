// Parses YAML 1.1 with bounded nesting and alias expansion. What scalars, keys and merges mean is decided by value.ts.

import {Composer, Lexer, LineCounter, Parser, Scalar, type CST, type Document, type ScalarTag} from 'yaml';
import {malformed} from './error.js';
import {yamlProblem} from './problem.js';
import {valueOf, type YamlValue} from './value.js';

/** A `%YAML` directive of another version than 1.1, which is rejected. */
const otherLanguage = /^(?:[^\S\n]*(?:#[^\n]*)?\n)*%YAML[ \t]+(?!1\.1\b)/;

/**
 * The nesting limit. Deeper texts would nearly exhaust the stack, where an overflow is not always a catchable error:
 * compiling a regular expression there ends the process.
 */
export const maxNesting = 400;

/** Yields the tokens of a text. Throws as soon as the nesting is too deep, before any recursion over the tokens. */
const tokensOf = function* (text: string, lines: LineCounter): Generator<CST.Token, void> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > maxNesting) throw malformed('exceeded max depth');
  }
  yield* parser.end();
};

/** Keeps values that are left out as they are when a document is written. */
const absent: ScalarTag = {
  tag: 'tag:yaml.org,2002:null',
  identify: value => value === null,
  default: true,
  test: /^$/,
  resolve: () => new Scalar(null),
  stringify: ({source}, {inFlow}) => source || (inFlow ? 'null' : (source ?? 'null')),
};

/**
 * The nodes of a document, with comments and formatting, and where its lines begin. Scalars are texts; `valueOf` tells
 * what they mean.
 */
export interface ParsedDocument {
  readonly document: Document;
  readonly lines: LineCounter;
}

/** Yields the nodes of the documents of a text. Throws `YamlError`. */
export const documentsOf = function* (text: string): Generator<ParsedDocument, void> {
  if (otherLanguage.test(text)) throw malformed('found incompatible YAML document');
  const lines = new LineCounter();
  const composer = new Composer({
    version: '1.1',
    schema: 'failsafe',
    customTags: [absent],
    uniqueKeys: false,
    lineCounter: lines,
    logLevel: 'silent',
  });
  for (const document of composer.compose(tokensOf(text, lines))) {
    const [error] = document.errors;
    const words = error?.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '');
    if (error) throw malformed(yamlProblem(text, error) ?? `line ${lines.linePos(error.pos[0]).line}: ${words}`);
    yield {document, lines};
  }
};

/** Parses the first document of a text; null if there is none. Throws `YamlError`. */
export const parseYaml = (text: string): YamlValue => {
  try {
    for (const {document, lines} of documentsOf(text)) return valueOf(document, lines);
    return {value: null, repeated: []};
  } catch (error) {
    if (error instanceof RangeError) throw malformed('exceeded max depth', error);
    throw error;
  }
};
