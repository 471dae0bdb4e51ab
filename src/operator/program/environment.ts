import type {FlagRow, FlagTable} from '#src/options/flag.js';
import {parseArguments, type Assignment, type ParsedArguments} from '#src/options/grammar.js';
import {OptionError} from '#src/options/option-error.js';
import {readValues} from '#src/options/schema.js';

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The prefix of variables for flags. */
const prefix = 'OPERATOR_';

/** Returns the name of the variable for a flag: `OPERATOR_LEADER_ELECT` for `--leader-elect`. */
export const variableOf = (flag: string): string => `${prefix}${flag.replaceAll('-', '_').toUpperCase()}`;

/**
 * Returns the arguments of a program with those of its environment added: a variable applies if its flag is not given.
 * Empty and unknown variables are ignored. Throws an `OptionError` that names the variable for an invalid value.
 */
export const withEnvironment = <R>(table: FlagTable<R>, argv: readonly string[], env: Environment): ParsedArguments => {
  const untyped = table as unknown as FlagTable;
  const {assignments, args} = parseArguments(untyped, argv);
  const given = new Set(assignments.map(({flag}) => flag));
  const added: Assignment[] = [];
  for (const flag of Object.keys(untyped.rows as Record<string, FlagRow>)) {
    const text = env[variableOf(flag)];
    if (!text || flag === 'help' || given.has(flag)) continue;
    try {
      readValues(untyped.rows, [{flag, text}]);
    } catch (cause) {
      throw new OptionError(`${variableOf(flag)}: ${(cause as Error).message}`, {cause});
    }
    added.push({flag, text});
  }
  return {assignments: [...added, ...assignments], args};
};
