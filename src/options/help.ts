import type {FlagRow, FlagTable} from './flag.js';
import {flagTypes} from './types.js';

const width = 110;
const indent = ' '.repeat(16);

/** Wraps text to lines of at most `width` characters, indented. */
const wrap = (text: string): string => {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line !== indent && line.length + 1 + word.length > width) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
};

/** Returns the default as help shows it; undefined if there is none. */
export const defaultText = (row: FlagRow): string | undefined => row.shownDefault ?? row.default;

/** Returns the type's name in help and in the reference; empty for a switch. */
export const typeLabel = (row: FlagRow): string => row.label ?? flagTypes[row.type].label;

const entry = (flag: string, row: FlagRow): string => {
  const names =
    row.shorthand && row.shorthand !== flag ? `-${row.shorthand}, --${flag}` : row.shorthand ? `-${flag}, --${flag}` : `    --${flag}`;
  const shown = defaultText(row);
  const notes = [
    row.help,
    shown === undefined ? '' : `(default ${shown})`,
    row.aliases ? `(also --${row.aliases.join(', --')})` : '',
    row.deprecated ? `(DEPRECATED: ${row.deprecated})` : '',
    row.implementation === 'pending' ? '(no effect yet)' : '',
    row.withoutEffect ? `(no effect here: ${row.withoutEffect})` : '',
  ];
  return `  ${`${names} ${typeLabel(row)}`.trimEnd()}\n${wrap(notes.filter(Boolean).join(' '))}`;
};

const byName = ([a]: readonly [string, FlagRow], [b]: readonly [string, FlagRow]): number => (a < b ? -1 : 1);

/** Returns the text of `--help`: all flags by section, with type, description and default. */
export const helpText = (table: Pick<FlagTable, 'program' | 'summary' | 'positional' | 'sections'>): string => {
  const usage = [table.program, table.positional, '[flags]'].filter(Boolean).join(' ');
  const sections = table.sections.map(({title, rows}) => {
    const entries = Object.entries(rows)
      .sort(byName)
      .map(([flag, row]) => entry(flag, row));
    return `${title} flags:\n\n${entries.join('\n')}\n`;
  });
  return `${table.summary}\n\nUsage:\n  ${usage}\n\n${sections.join('\n')}`;
};
