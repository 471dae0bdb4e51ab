// The iptables programs of a family of addresses.

import {CommandError, type Command, type Finished, type ProxyKernel} from '#src/proxy/kernel/kernel.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import type {Table} from './names.js';

const programs: Readonly<Record<IpFamily, string>> = {IPv4: 'iptables', IPv6: 'ip6tables'};

/** How long the programs wait for others that change the tables. */
const wait = ['-w', '5'] as const;
/** The exit status if the tables are locked for longer, or memory is short. */
const resourceProblem = 4;
/** What the programs say of chains that are not there. */
const isNotFound = /does not exist|No chain\/target\/match by that name|No such file or directory/;
/** The first release with `--random-fully`. */
const randomFullyRelease = [1, 6, 2] as const;

/** Changes the tables of a family. */
export class Iptables {
  readonly family: IpFamily;
  readonly #kernel: Pick<ProxyKernel, 'run'>;

  constructor(family: IpFamily, kernel: Pick<ProxyKernel, 'run'>) {
    this.family = family;
    this.#kernel = kernel;
  }

  /** Returns why the program cannot be used; undefined if it can. */
  async problem(): Promise<string | undefined> {
    const command = this.#command('-S', 'nat', 'POSTROUTING');
    try {
      const finished = await this.#kernel.run(command);
      return finished.exitCode === 0 ? undefined : new CommandError(command, finished).message;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Whether the ports of masqueraded connections can be chosen at random. */
  async hasRandomFully(): Promise<boolean> {
    const {stdout} = await this.#kernel.run({program: programs[this.family], args: ['--version']});
    const release = /v(\d+)\.(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number) ?? [];
    const at = randomFullyRelease.findIndex((part, index) => release[index] !== part);
    return at < 0 || (release[at] ?? 0) > randomFullyRelease[at]!;
  }

  /** Creates a chain, unless there is one. */
  async ensureChain(table: Table, chain: string): Promise<void> {
    const {finished, error} = await this.#run('-N', table, chain);
    if (finished.exitCode > 1) throw error;
  }

  /** Puts a rule before all others of its chain, unless it is there. */
  async ensureRule(table: Table, chain: string, rule: readonly string[]): Promise<void> {
    if (await this.#hasRule(table, chain, rule)) return;
    const {finished, error} = await this.#run('-I', table, chain, rule);
    if (finished.exitCode !== 0) throw error;
  }

  /** A rule that is not there is no error, nor is a chain that its packets go to. */
  async deleteRule(table: Table, chain: string, rule: readonly string[]): Promise<void> {
    const check = await this.#run('-C', table, chain, rule);
    if (check.finished.exitCode === 1 || isNotFound.test(check.finished.stderr)) return;
    if (check.finished.exitCode !== 0) throw check.error;
    const {finished, error} = await this.#run('-D', table, chain, rule);
    if (finished.exitCode !== 0) throw error;
  }

  /** Deletes an empty chain. Returns whether it did. */
  async deleteChain(table: Table, chain: string): Promise<boolean> {
    return (await this.#run('-X', table, chain)).finished.exitCode === 0;
  }

  /** Whether there is such a chain; `unknown` if the tables could not be read for now. */
  async chainExists(table: Table, chain: string): Promise<boolean | 'unknown'> {
    const {finished} = await this.#run('-S', table, chain);
    return finished.exitCode === resourceProblem ? 'unknown' : finished.exitCode === 0;
  }

  /** The names of all chains of a table. */
  async chainsOf(table: Table): Promise<readonly string[]> {
    const command = {program: `${programs[this.family]}-save`, args: ['-t', table]};
    const finished = await this.#kernel.run(command);
    if (finished.exitCode !== 0) throw new CommandError(command, finished);
    return [...finished.stdout.matchAll(/^:(\S+) /gm)].map(match => match[1]!);
  }

  /** Writes rules in one transaction. Chains that the input does not name stay as they are. */
  async restore(input: string): Promise<void> {
    const command = {program: `${programs[this.family]}-restore`, args: [...wait, '--noflush', '--counters'], input};
    const finished = await this.#kernel.run(command);
    if (finished.exitCode !== 0) throw new CommandError(command, finished);
  }

  async #hasRule(table: Table, chain: string, rule: readonly string[]): Promise<boolean> {
    const {finished, error} = await this.#run('-C', table, chain, rule);
    if (finished.exitCode > 1 || finished.exitCode < 0) throw error;
    return finished.exitCode === 0;
  }

  #command(operation: string, table: Table, chain: string, rule: readonly string[] = []): Command {
    return {program: programs[this.family], args: [...wait, operation, chain, '-t', table, ...rule]};
  }

  async #run(...parts: [string, Table, string, (readonly string[])?]): Promise<{readonly finished: Finished; readonly error: Error}> {
    const command = this.#command(...parts);
    const finished = await this.#kernel.run(command);
    return {finished, error: new CommandError(command, finished)};
  }
}
