import {isAmbiguous} from '#src/base/yaml/scalar.js';

// The text of a string in YAML: the original's emitter chooses among plain, quoted and literal text, and folds long
// lines at spaces.

/**
 * Where a scalar stands: the column that its text begins at, and the indentation of its further lines. Without it, the
 * scalar stays on one line.
 */
export interface ScalarPlace {
  readonly column: number;
  readonly indent: string;
}

/** Differs from upstream: it is quoted, since both read it as a merge otherwise where it is a key. */
const mergeKey = '<<';

/** A space beyond this column becomes a line break. */
const bestWidth = 80;

/** Characters that only a double-quoted text can have, and the line breaks other than a line feed. */
const special = /[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/;
/** A character or a beginning that makes a text outside of quotes something else. */
const indicator = /^(?:[#,[\]{}&*!|>'"%@`]|---|\.\.\.|[?:-](?: |$))|: |:$| #/;

const escapes: Readonly<Record<string, string>> = {
  '\0': '0',
  '\x07': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\x1b': 'e',
  '"': '"',
  '\\': '\\',
  '\x85': 'N',
  '\u2028': 'L',
  '\u2029': 'P',
};
const escaped = /["\\\n]|[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/gu;

const escape = (character: string): string => {
  const short = escapes[character];
  if (short !== undefined) return `\\${short}`;
  const hex = character.codePointAt(0)!.toString(16).toUpperCase();
  if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
};

/** Breaks a text at spaces beyond the best width. Only double quotes keep a second space at the beginning of a line: by escaping it. */
const folded = (text: string, start: number, place: ScalarPlace | undefined, escapesSpaces = false): string => {
  if (!place || start + text.length <= bestWidth) return text;
  const {indent} = place;
  let column = start;
  let from = 0;
  let result = '';
  for (let at = text.indexOf(' '); at >= 0; at = text.indexOf(' ', at + 1)) {
    if (at === 0 || at === text.length - 1 || text[at - 1] === ' ' || column + at - from <= bestWidth) continue;
    const isFollowed = text[at + 1] === ' ';
    if (isFollowed && !escapesSpaces) continue;
    result += `${text.slice(from, at)}\n${indent}${isFollowed ? '\\' : ''}`;
    column = indent.length + (isFollowed ? 1 : 0);
    from = at + 1;
  }
  return result + text.slice(from);
};

const doubleQuoted = (text: string, place?: ScalarPlace): string =>
  `"${folded(text.replace(escaped, escape), (place?.column ?? 0) + 1, place, true)}"`;

const literal = (text: string, indent: string): string => {
  const chomping = text.endsWith('\n') ? (text === '\n' || text.endsWith('\n\n') ? '+' : '') : '-';
  const body = text.endsWith('\n') ? text.slice(0, -1) : text;
  return `|${/^[ \n]/.test(text) ? '2' : ''}${chomping}\n${body.replace(/^(?=[^\n])/gm, indent)}`;
};

/** Returns a string as YAML. */
export const yamlScalar = (text: string, place?: ScalarPlace): string => {
  const isSpecial = special.test(text);
  if (text.includes('\n')) return place && !isSpecial && !/ (?:\n|$)/.test(text) ? literal(text, place.indent) : doubleQuoted(text, place);
  if (isSpecial || text === mergeKey || isAmbiguous(text)) return doubleQuoted(text, place);
  if (!indicator.test(text) && !text.startsWith(' ') && !text.endsWith(' ')) return folded(text, place?.column ?? 0, place);
  return `'${folded(text.replaceAll("'", "''"), (place?.column ?? 0) + 1, place)}'`;
};
