import type {FlagRow, FlagTable} from './flag.js';
import {OptionError} from './option-error.js';
import {flagTypes} from './types.js';

/** One occurrence of a flag: its canonical name and the text given to it. */
export interface Assignment {
  readonly flag: string;
  readonly text: string;
}

/** A command line cut into flags and other arguments. */
export interface Words {
  readonly assignments: readonly Assignment[];
  readonly args: readonly string[];
}

interface Named {
  readonly flag: string;
  readonly row: FlagRow;
}

const named = (table: FlagTable): {long: Map<string, Named>; short: Map<string, Named>} => {
  const long = new Map<string, Named>();
  const short = new Map<string, Named>();
  for (const [flag, row] of Object.entries(table.rows as Record<string, FlagRow>)) {
    for (const name of [flag, ...(row.aliases ?? [])]) long.set(name, {flag, row});
    if (row.shorthand) short.set(row.shorthand, {flag, row});
  }
  return {long, short};
};

/**
 * Cuts a command line by the field's grammar: `--flag value`, `--flag=value`, `--switch`, `-v 4`, `-v=4`, `-v4`; `--` ends the flags.
 * Underscores in names count as dashes. A switch never takes the next word. Knows nothing of what values mean.
 */
export const cutWords = (table: FlagTable, argv: readonly string[]): Words => {
  const {long, short} = named(table);
  const assignments: Assignment[] = [];
  const args: string[] = [];
  let at = 0;

  const valueFor = ({flag, row}: Named, spelled: string, inline: string | undefined) => {
    const text = inline ?? flagTypes[row.type].alone ?? argv[at++];
    if (text === undefined) throw new OptionError(`flag needs an argument: ${spelled}`);
    assignments.push({flag, text});
  };

  const readShort = (word: string) => {
    for (let letters = word.slice(1); letters; ) {
      const letter = letters[0]!;
      const found = short.get(letter);
      if (!found) throw new OptionError(`unknown shorthand flag: '${letter}' in ${word}`);
      const rest = letters.slice(1);
      const takesNone = flagTypes[found.row.type].alone !== undefined;
      const inline = rest.startsWith('=') ? rest.slice(1) : takesNone || rest === '' ? undefined : rest;
      valueFor(found, `-${letter}`, inline);
      letters = takesNone && !rest.startsWith('=') ? rest : '';
    }
  };

  const readLong = (word: string) => {
    const equals = word.indexOf('=');
    const name = (equals < 0 ? word.slice(2) : word.slice(2, equals)).replaceAll('_', '-');
    if (!name || name.startsWith('-')) throw new OptionError(`bad flag syntax: ${word}`);
    const found = long.get(name);
    if (!found) throw new OptionError(`unknown flag: --${name}`);
    valueFor(found, `--${name}`, equals < 0 ? undefined : word.slice(equals + 1));
  };

  while (at < argv.length) {
    const word = argv[at++]!;
    if (word === '--') {
      args.push(...argv.slice(at));
      break;
    }
    if (word.startsWith('--')) readLong(word);
    else if (word.startsWith('-') && word !== '-') readShort(word);
    else args.push(word);
  }
  return {assignments, args};
};
