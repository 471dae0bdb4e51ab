// The command line of `plat up` before it is parsed: flags that it does not have, but a component has; and after: those
// that it hands on to its components.

import {parseArguments, UnknownFlagError, type Assignment} from '#src/options/grammar.js';
import type {FlagTable} from '#src/options/flag.js';
import {OptionError} from '#src/options/option-error.js';
import {apiserverOwn, controllerManagerOwn, upFlags} from '#src/options/programs/up.js';

const table = upFlags as unknown as FlagTable;

/**
 * Returns the arguments of `plat up`, after those of its configuration file. Throws an `OptionError` for a flag that
 * only a component has, which names the flag that hands it on.
 */
export const upArguments = async (argv: readonly string[]): Promise<readonly string[]> => {
  try {
    const {assignments} = parseArguments(table, argv);
    const file = assignments.findLast(({flag}) => flag === 'config')?.text;
    return file ? [...(await configured(file, assignments)), ...argv] : argv;
  } catch (error) {
    if (error instanceof UnknownFlagError) await explainFlag(error.flag);
    throw error;
  }
};

/** Flags of which those of the file and those of the command line apply together, the latter after the former. */
const combined: ReadonlySet<string> = new Set([
  'manifests',
  'feature-gates',
  'runtime-config',
  'apiserver-arg',
  'controller-manager-arg',
  'scheduler-arg',
  'agent-arg',
]);

/** Returns the flags of a configuration file that the command line does not replace. */
const configured = async (file: string, given: readonly Assignment[]): Promise<readonly string[]> => {
  const {readConfiguration} = await import('./configuration.js');
  const isReplaced = (flag: string) => !combined.has(flag) && given.some(each => each.flag === flag);
  return (await readConfiguration(file)).filter(({flag}) => !isReplaced(flag)).map(({flag, text}) => `--${flag}=${text}`);
};

/** Throws where a component has a flag that `plat up` does not have. */
const explainFlag = async (flag: string): Promise<void> => {
  const [{apiserverFlags}, {controllerManagerFlags}, {schedulerFlags}, {platletFlags}] = await Promise.all([
    import('#src/options/programs/apiserver.js'),
    import('#src/options/programs/controller-manager.js'),
    import('#src/options/programs/scheduler.js'),
    import('#src/options/programs/platlet.js'),
  ]);
  const owners = Object.entries({
    'apiserver-arg': apiserverFlags.rows,
    'controller-manager-arg': controllerManagerFlags.rows,
    'scheduler-arg': schedulerFlags.rows,
    'agent-arg': platletFlags.rows,
  }).filter(([, rows]) => Object.hasOwn(rows, flag));
  if (owners.length === 0) return;
  const ways = owners.map(([owner]) => `--${owner}=--${flag}=…`).join(' or ');
  throw new OptionError(`--${flag} is a flag of a component: give it as ${ways}`);
};

/** The flags of the components, in the order in which the component reads them: the later take precedence. */
export interface ComponentArguments {
  readonly apiserver: readonly string[];
  readonly controllerManager: readonly string[];
  readonly scheduler: readonly string[];
  readonly agent: readonly string[];
}

/** Returns the flags of a command line that `plat up` hands on under the same name. */
export const handedOn = (argv: readonly string[]): ComponentArguments => {
  const {assignments} = parseArguments(table, argv);
  const of = (...flags: readonly string[]) =>
    assignments.filter(({flag}) => flags.includes(flag)).map(({flag, text}) => `--${flag}=${text}`);
  return {
    apiserver: of('feature-gates', ...apiserverOwn),
    controllerManager: of('feature-gates', ...controllerManagerOwn),
    scheduler: of('feature-gates'),
    agent: of('feature-gates'),
  };
};
