import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {wellKnown} from '#src/api/user.js';
import {OptionError} from '#src/options/option-error.js';
import type {ApiserverOptions} from '#src/options/apiserver.js';
import type {Rules} from '#src/simulation/rules/rules.js';
import type {Simulation} from '#src/simulation/simulation.js';
import type {RunningApiServer} from './api-server.js';
import {watchSecondsInProcess} from './component/in-process.js';

export interface PlaneNodes {
  readonly count: number;
  /** Where the rules of the simulation are. */
  readonly rulesFile: string | undefined;
  /** The ranges of pods: nodes have addresses of their families. */
  readonly podRanges: readonly string[];
  readonly api: RunningApiServer;
  readonly options: ApiserverOptions;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  /** The release they report. */
  readonly version: string;
  readonly freeze: boolean;
}

/** Runs the simulated nodes of a plane, if there are to be any. Each acts as a node's user; what nodes may do is the node authorizer's to say, and where that one is off they may do everything. */
export const planeNodes = async ({count, rulesFile, podRanges, api, options, naming, ...rest}: PlaneNodes): Promise<Simulation | undefined> => {
  if (count === 0) return undefined;
  const {startSimulation} = await import('#src/simulation/simulation.js'); // Loaded only where there are nodes.
  const isJudged = options.authorizationMode.includes('Node');
  return startSimulation({
    ...rest,
    nodes: count,
    watchSeconds: watchSecondsInProcess,
    ...(podRanges.length > 0 ? {families: podRanges.map(range => (range.includes(':') ? 6 : 4))} : {}),
    ...(rulesFile ? {rules: await rulesIn(rulesFile)} : {}),
    naming,
    client: api.clientAs({name: naming.componentUser('simulation'), groups: [wellKnown.masters, wellKnown.authenticated]}, 'plat/simulation'),
    clientAs: user => api.clientAs(isJudged ? user : {...user, groups: [...user.groups, wellKnown.masters]}, naming.agent),
  });
};

/** The rules in the file of `--simulation-file`. Throws an `OptionError` in one line. */
export const rulesIn = async (path: string): Promise<Rules> => {
  const {readRules, RuleError} = await import('#src/simulation/rules/read.js');
  const content = await systemFiles.read(path).catch((error: unknown) => {
    throw new OptionError(`--simulation-file: cannot read ${path}: ${(error as Error).message}`, {cause: error});
  });
  if (!content) throw new OptionError(`--simulation-file: there is no file ${path}`);
  try {
    return readRules(content.toString());
  } catch (error) {
    if (error instanceof RuleError) throw new OptionError(`--simulation-file: ${path}: ${error.message}`, {cause: error});
    throw error;
  }
};
