import type {FlagRow, FlagTable} from '#src/options/flag.js';
import {parseArguments} from '#src/options/grammar.js';
import {OptionError} from '#src/options/option-error.js';
import {readValues} from '#src/options/schema.js';

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The beginning of the variables that stand for flags. */
const prefix = 'OPERATOR_';

/** Returns the variable that stands for a flag: `OPERATOR_LEADER_ELECT` for `--leader-elect`. */
export const variableOf = (flag: string): string => `${prefix}${flag.replaceAll('-', '_').toUpperCase()}`;

/**
 * Returns the arguments of a program with those that its environment adds: a variable counts where its flag is not
 * given. Empty variables, and those of no flag, are ignored. Throws an `OptionError` that names the variable for a
 * value that its flag does not take.
 */
export const withEnvironment = <R>(table: FlagTable<R>, argv: readonly string[], env: Environment): readonly string[] => {
  const untyped = table as unknown as FlagTable;
  const given = new Set(parseArguments(untyped, argv).assignments.map(({flag}) => flag));
  const added: string[] = [];
  for (const flag of Object.keys(untyped.rows as Record<string, FlagRow>)) {
    const text = env[variableOf(flag)];
    if (!text || flag === 'help' || given.has(flag)) continue;
    try {
      readValues(untyped.rows, [{flag, text}]);
    } catch (cause) {
      throw new OptionError(`${variableOf(flag)}: ${(cause as Error).message}`, {cause});
    }
    added.push(`--${flag}=${text}`);
  }
  return [...added, ...argv];
};
