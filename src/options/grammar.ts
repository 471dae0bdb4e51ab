import {closest} from '#src/base/text/closest.js';
import type {FlagRow, FlagTable} from './flag.js';
import {OptionError} from './option-error.js';
import {ownFlagName} from './original-flags.js';
import {flagTypes} from './types.js';

/** One occurrence of a flag: its canonical name and its value as text. */
export interface Assignment {
  readonly flag: string;
  readonly text: string;
}

/** Returns the argument that gives a flag a value. */
export const argumentOf = ({flag, text}: Assignment): string => `--${flag}=${text}`;

/** A command line split into flags and positional arguments. */
export interface ParsedArguments {
  readonly assignments: readonly Assignment[];
  readonly args: readonly string[];
}

/**
 * Thrown for a flag that a program does not have. The message names the one that the original calls so, or a similar
 * one.
 */
export class UnknownFlagError extends OptionError {
  readonly flag: string;

  constructor(flag: string, known: readonly string[]) {
    const renamed = ownFlagName(flag);
    const similar = known.includes(renamed) ? renamed : closest(flag, known);
    super(`unknown flag: --${flag}${similar === undefined ? '' : ` (did you mean --${similar}?)`}`);
    this.flag = flag;
  }
}

interface NamedFlag {
  readonly flag: string;
  readonly row: FlagRow;
}

const flagsByName = (table: FlagTable): {long: Map<string, NamedFlag>; short: Map<string, NamedFlag>} => {
  const long = new Map<string, NamedFlag>();
  const short = new Map<string, NamedFlag>();
  for (const [flag, row] of Object.entries(table.rows as Record<string, FlagRow>)) {
    for (const name of [flag, ...(row.aliases ?? [])]) long.set(name, {flag, row});
    if (row.shorthand) short.set(row.shorthand, {flag, row});
  }
  return {long, short};
};

/**
 * Splits a command line into flags and arguments: `--flag value`, `--flag=value`, `--switch`, `-v 4`, `-v=4`, `-v4`;
 * `--` ends the flags. Underscores in names are converted to dashes. A switch does not consume the next argument.
 * Values are not parsed.
 */
export const parseArguments = (table: FlagTable, argv: readonly string[]): ParsedArguments => {
  const {long, short} = flagsByName(table);
  const assignments: Assignment[] = [];
  const args: string[] = [];
  let at = 0;

  const valueFor = ({flag, row}: NamedFlag, flagText: string, inline: string | undefined) => {
    const text = inline ?? flagTypes[row.type].noOptionDefault ?? argv[at++];
    if (text === undefined) throw new OptionError(`flag needs an argument: ${flagText}`);
    assignments.push({flag, text});
  };

  const parseShortFlags = (argument: string) => {
    for (let letters = argument.slice(1); letters;) {
      const letter = letters[0]!;
      const found = short.get(letter);
      if (!found) throw new OptionError(`unknown shorthand flag: '${letter}' in ${argument}`);
      const rest = letters.slice(1);
      const takesNone = flagTypes[found.row.type].noOptionDefault !== undefined;
      const inline = rest.startsWith('=') ? rest.slice(1) : takesNone || rest === '' ? undefined : rest;
      valueFor(found, `-${letter}`, inline);
      letters = takesNone && !rest.startsWith('=') ? rest : '';
    }
  };

  const parseLongFlag = (argument: string) => {
    const equals = argument.indexOf('=');
    const name = (equals < 0 ? argument.slice(2) : argument.slice(2, equals)).replaceAll('_', '-');
    if (!name || name.startsWith('-')) throw new OptionError(`bad flag syntax: ${argument}`);
    const found = long.get(name);
    if (!found) throw new UnknownFlagError(name, [...long.keys()]);
    valueFor(found, `--${name}`, equals < 0 ? undefined : argument.slice(equals + 1));
  };

  while (at < argv.length) {
    const argument = argv[at++]!;
    if (argument === '--') {
      args.push(...argv.slice(at));
      break;
    }
    if (argument.startsWith('--')) parseLongFlag(argument);
    else if (argument.startsWith('-') && argument !== '-') parseShortFlags(argument);
    else args.push(argument);
  }
  return {assignments, args};
};
