import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {wellKnown} from '#src/api/user.js';
import {OptionError} from '#src/options/option-error.js';
import type {Rules} from '#src/simulation/rules/rules.js';
import type {Simulation} from '#src/simulation/simulation.js';
import type {RunningApiServer} from '#src/plane/api-server/api-server.js';
import type {Client} from '#src/client/client.js';
import type {UsageReader} from '#src/api/node/usage.js';
import type {Network} from '#src/transport/network.js';
import {watchSecondsInProcess} from '#src/plane/component/in-process.js';
import type {Foundation} from '#src/plane/inputs/foundation.js';
import {SimulatedNodes} from './simulated-nodes.js';
import {simulatedNetwork} from './simulated-network.js';
import {planeUsage} from './usage.js';

export interface PlaneNodesParts {
  readonly count: number;
  /** The file of the simulation's rules. */
  readonly rulesFile: string | undefined;
  /** The pod ranges: nodes have addresses of their families. */
  readonly podRanges: readonly string[];
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  /** The version that nodes report. */
  readonly version: string;
  readonly freeze: boolean;
  /** What they are like, if they stand for others. */
  readonly simulated?: Foundation['simulation'];
}

/**
 * The simulated nodes of a plane, from before the start of its API server to its stop: the server dials agents and pods
 * over `network` and reads their usage from `usage`, which are empty until `start`.
 */
export class PlaneNodes {
  readonly #parts: PlaneNodesParts;
  readonly #nodes = new SimulatedNodes();

  constructor(parts: PlaneNodesParts) {
    this.#parts = parts;
  }

  /** The simulation, once it runs. */
  get simulation(): Simulation | undefined {
    return this.#nodes.simulation;
  }

  /** The network of this machine, extended by the nodes. */
  get network(): Network {
    const {naming, clock, random, log} = this.#parts;
    return simulatedNetwork({naming, clock, random, log, nodes: this.#nodes});
  }

  /** The usage of these nodes and of those whose agents run elsewhere, which are called through `client`. */
  usage(client: Client): UsageReader {
    const {clock, log} = this.#parts;
    return planeUsage(this.#nodes, {client, clock, log});
  }

  /**
   * Starts the nodes, if there are any, and returns a function that stops them. Each has a node's identity, which may
   * do what the Node authorizer allows, and without that authorizer everything.
   */
  async start(api: Pick<RunningApiServer, 'clientAs' | 'authorizesNodes'>): Promise<(() => Promise<void>) | undefined> {
    const {count, rulesFile, podRanges, naming, clock, random, log, meter, version, freeze, simulated} = this.#parts;
    if (count === 0) return undefined;
    const {startSimulation} = await import('#src/simulation/simulation.js'); // Loaded only where there are nodes.
    const simulation = await startSimulation({
      nodes: count,
      volumes: true,
      watchSeconds: watchSecondsInProcess,
      ...(podRanges.length > 0 ? {families: podRanges.map(range => (range.includes(':') ? 6 : 4))} : {}),
      ...(rulesFile ? {rules: await rulesIn(rulesFile)} : {}),
      ...simulated,
      naming,
      clock,
      random,
      log,
      meter,
      version,
      freeze,
      client: api.clientAs(
        {name: naming.componentUser('simulation'), groups: [wellKnown.masters, wellKnown.authenticated]},
        'plat/simulation',
      ),
      clientAs: user => api.clientAs(api.authorizesNodes ? user : {...user, groups: [...user.groups, wellKnown.masters]}, naming.agent),
    });
    this.#nodes.attach(simulation);
    return () => simulation.stop();
  }
}

/** Reads the rules of `--simulation-file`. Throws an `OptionError` of one line. */
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
