// Manual pages in the man macros of roff (man 7), one for each program and each command of `plat`, from their flag
// tables.

import type {FlagRow, FlagTable} from '#src/options/flag.js';
import {defaultText, typeLabel} from '#src/options/help.js';

/** A manual page by its file name, for example plat-up.1. */
export interface ManualPage {
  readonly file: string;
  readonly text: string;
}

/** What stands for a character that roff would take for a request, or print as another one. */
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\(rs',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
};

/** Text within a line. */
const escaped = (text: string): string =>
  text.replaceAll(
    /[\\\-'`^~]|[^\x20-\x7e]/gu,
    char => escapes[char] ?? `\\[u${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
  );

/** A line of text; one that begins with a dot would be a request. */
const line = (text: string): string => escaped(text).replace(/^\./, '\\&.');

/** An argument of a macro, in quotes. */
const argument = (text: string): string => `"${escaped(text).replaceAll('"', '\\(dq')}"`;

const bold = (text: string): string => `\\fB${escaped(text)}\\fR`;
const italic = (text: string): string => (text ? ` \\fI${escaped(text)}\\fR` : '');

const flagText = ([flag, row]: readonly [string, FlagRow]): string => {
  const short = row.shorthand === flag ? flag : row.shorthand;
  const names = [...(short ? [`-${short}`] : []), ...[flag, ...(row.aliases ?? [])].map(name => `--${name}`)];
  const shown = defaultText(row);
  const notes = [
    row.help,
    shown === undefined ? '' : `Default: ${shown}.`,
    row.deprecated ? `Deprecated: ${row.deprecated}.` : '',
    row.implementation === 'pending' ? 'No effect yet.' : '',
    row.withoutEffect ? `No effect here, because ${row.withoutEffect}.` : '',
  ];
  return `.TP\n${names.map(bold).join(', ')}${italic(typeLabel(row))}\n${line(notes.filter(Boolean).join(' '))}`;
};

const pageName = (program: string): string => program.replaceAll(' ', '-');
const head = (name: string, sentence: string): string =>
  `.\\" Made from the flag tables by \`make docs\`; do not edit.\n.TH ${argument(name.toUpperCase())} 1 "" "plat" "plat"\n.SH NAME\n${escaped(name)} \\- ${escaped(sentence)}`;
const seeAlso = (names: readonly string[]): string => `.SH SEE ALSO\n${names.map(name => `${bold(name)}(1)`).join(',\n')}\n`;

/** The first sentence, as whatis(1) shows it. */
const sentenceOf = (summary: string): string =>
  /^.*?(?=[.:](\s|$)|$)/.exec(summary)![0].replace(/^[A-Z](?=[a-z])/, first => first.toLowerCase());

const programPage = ({program, summary, positional, sections}: FlagTable, programs: readonly string[]): ManualPage => {
  const name = pageName(program);
  const flags = sections.map(({title, rows}) => `.SS ${argument(title)}\n${Object.entries(rows).map(flagText).join('\n')}`);
  const text = [
    head(name, sentenceOf(summary)),
    `.SH SYNOPSIS\n${bold(program)}${positional ? ` ${escaped(positional)}` : ''} [\\fIflags\\fR]`,
    `.SH DESCRIPTION\n${line(summary)}`,
    `.SH OPTIONS\n${flags.join('\n')}`,
    seeAlso(program.startsWith('plat ') ? ['plat'] : ['plat', ...programs.filter(other => other !== program)]),
  ].join('\n');
  return {file: `${name}.1`, text};
};

const overview = (tables: readonly FlagTable[], programs: readonly string[]): ManualPage => {
  const list = tables
    .filter(({program}) => !programs.includes(program))
    .map(({program, summary}) => `.TP\n${bold(pageName(program))}(1)\n${line(summary)}`);
  const text = [
    head('plat', 'a Kubernetes-style control plane'),
    `.SH SYNOPSIS\n${bold('plat')} \\fIcommand\\fR [\\fIflags\\fR]`,
    `.SH COMMANDS\n${list.join('\n')}`,
    seeAlso(programs),
  ].join('\n');
  return {file: 'plat.1', text};
};

/** Returns the manual pages of section 1 for the tables of all programs and commands, that of `plat` first. */
export const manualPages = (tables: readonly FlagTable[]): readonly ManualPage[] => {
  const programs = tables.map(({program}) => program).filter(program => !program.includes(' '));
  return [overview(tables, programs), ...tables.map(table => programPage(table, programs))];
};
