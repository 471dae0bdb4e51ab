// The command line of `plat up` before it is parsed: flags that it does not have, but a component has; and after: those
// that it hands on to its components.

import {argumentOf, parseArguments, UnknownFlagError, type Assignment, type ParsedArguments} from '#src/options/grammar.js';
import type {FlagTable} from '#src/options/flag.js';
import {OptionError} from '#src/options/option-error.js';
import {apiserverOwn, controllerManagerOwn, upFlags} from '#src/options/programs/up.js';

const table = upFlags as unknown as FlagTable;

/**
 * Splits the arguments of `plat up`, and puts those of its configuration file before them. Throws an `OptionError` for
 * a flag that only a component has, which names the flag that hands it on.
 */
export const upArguments = async (argv: readonly string[]): Promise<ParsedArguments> => {
  try {
    const {assignments, args} = parseArguments(table, argv);
    const file = assignments.findLast(({flag}) => flag === 'config')?.text;
    return {assignments: file ? [...(await configured(file, assignments)), ...assignments] : assignments, args};
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
  'proxy-arg',
]);

/** Returns the flags of a configuration file that the command line does not replace. */
const configured = async (file: string, given: readonly Assignment[]): Promise<readonly Assignment[]> => {
  const {readConfiguration} = await import('./configuration.js');
  const isReplaced = (flag: string) => !combined.has(flag) && given.some(each => each.flag === flag);
  return (await readConfiguration(file)).filter(({flag}) => !isReplaced(flag));
};

/** Throws where a component has a flag that `plat up` does not have. */
const explainFlag = async (flag: string): Promise<void> => {
  const [{apiserverFlags}, {controllerManagerFlags}, {schedulerFlags}, {platletFlags}, {proxyFlags}] = await Promise.all([
    import('#src/options/programs/apiserver.js'),
    import('#src/options/programs/controller-manager.js'),
    import('#src/options/programs/scheduler.js'),
    import('#src/options/programs/platlet.js'),
    import('#src/options/programs/proxy.js'),
  ]);
  const owners = Object.entries({
    'apiserver-arg': apiserverFlags.rows,
    'controller-manager-arg': controllerManagerFlags.rows,
    'scheduler-arg': schedulerFlags.rows,
    'agent-arg': platletFlags.rows,
    'proxy-arg': proxyFlags.rows,
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
  readonly proxy: readonly string[];
}

/** Returns the flags of a command line that `plat up` hands on under the same name. */
export const handedOn = (assignments: readonly Assignment[]): ComponentArguments => {
  const of = (...flags: readonly string[]) => assignments.filter(({flag}) => flags.includes(flag)).map(argumentOf);
  return {
    apiserver: of('feature-gates', ...apiserverOwn),
    controllerManager: of('feature-gates', ...controllerManagerOwn),
    scheduler: of('feature-gates'),
    agent: of('feature-gates'),
    proxy: of('feature-gates'),
  };
};
