// What the completion scripts of all shells complete, from the flag tables.

import type {Completed, FlagRow, FlagTable} from '#src/options/flag.js';
import {flagTypes} from '#src/options/types.js';

/** A flag as shells complete it. */
export interface CompletedFlag {
  readonly name: string;
  readonly shorthand: string | undefined;
  /** Whether it is complete without a value. */
  readonly isSwitch: boolean;
  /** The values it can have; empty if they are not listed, then files are completed. */
  readonly values: readonly string[];
  /** The names that complete it, which the shell looks up. */
  readonly names: Completed | undefined;
  /** One sentence. */
  readonly about: string;
}

/** A program or a command of `plat`. */
export interface CompletedCommand {
  readonly program: string;
  /** The command; undefined for a program of its own. */
  readonly command: string | undefined;
  readonly about: string;
  /** The first arguments that it knows, such as `save` of `plat snapshot`. */
  readonly subcommands: readonly string[];
  /** The names that complete its arguments, which the shell looks up. */
  readonly names: Completed | undefined;
  readonly flags: readonly CompletedFlag[];
}

/** Returns the first sentence of a text, without its full stop. */
const firstSentence = (text: string): string => text.split(/[.;] |\n/)[0]!.replace(/\.$/, '');

/** Returns the literal first words of a usage text such as `save FILE | copy`. */
const subcommandsOf = (positional = ''): readonly string[] =>
  positional
    .split(/ \| /)
    .flatMap(part => part.split(' ')[0]!.split('|'))
    .filter(word => /^[a-z]+$/.test(word));

const completedFlag = ([name, row]: readonly [string, FlagRow]): CompletedFlag => ({
  name,
  shorthand: row.shorthand?.length === 1 ? row.shorthand : undefined,
  isSwitch: flagTypes[row.type].noOptionDefault !== undefined,
  values: row.type === 'bool' ? ['true', 'false'] : (row.oneOf ?? []).filter(Boolean),
  names: row.completes,
  about: firstSentence(row.help),
});

/** Returns all programs and commands with their flags, without deprecated flags. */
export const completedCommands = (tables: readonly FlagTable[]): readonly CompletedCommand[] =>
  tables.map(({program: whole, summary, positional, completes, sections}) => {
    const [program = '', command] = whole.split(' ');
    const rows = sections.flatMap(section => Object.entries(section.rows)).filter(([, {deprecated}]) => deprecated === undefined);
    return {
      program,
      command,
      about: firstSentence(summary),
      subcommands: subcommandsOf(positional),
      names: completes,
      flags: rows.map(completedFlag).sort((a, b) => (a.name < b.name ? -1 : 1)),
    };
  });
