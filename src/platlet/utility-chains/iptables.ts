// The iptables program of an address family.

import type {Host} from '#src/platlet/host/host.js';

export type IpFamily = 'IPv4' | 'IPv6';
export type IptablesTable = 'mangle' | 'nat' | 'filter';

const programs: Readonly<Record<IpFamily, string>> = {IPv4: 'iptables', IPv6: 'ip6tables'};

/** How long the program waits for others that change the tables, in seconds. */
const waitSeconds = '5';
/** The exit status if the tables are locked for longer, or memory is short. */
const resourceProblem = 4;

/** Changes the tables of a family. Its calls come one after the other. */
export class Iptables {
  readonly family: IpFamily;
  readonly #host: Pick<Host, 'execute'>;

  constructor(family: IpFamily, host: Pick<Host, 'execute'>) {
    this.family = family;
    this.#host = host;
  }

  /** Whether the program is installed and works. */
  async isPresent(): Promise<boolean> {
    return (await this.#run('-S', 'nat', 'POSTROUTING'))?.exitCode === 0;
  }

  /** Returns whether the chain was created: false if there is one already. */
  async ensureChain(table: IptablesTable, chain: string): Promise<boolean> {
    const finished = await this.#run('-N', table, chain);
    if (finished?.exitCode === 1) return false;
    if (finished?.exitCode !== 0) throw new Error(`error creating chain "${chain}": ${this.#reason(finished)}`);
    return true;
  }

  /** Returns whether the rule was created: false if there is one already. */
  async ensureRule(place: 'append' | 'prepend', table: IptablesTable, chain: string, rule: readonly string[]): Promise<boolean> {
    if (await this.#hasRule(table, chain, rule)) return false;
    const finished = await this.#run(place === 'append' ? '-A' : '-I', table, chain, rule);
    if (finished?.exitCode !== 0) throw new Error(`error appending rule: ${this.#reason(finished)}`);
    return true;
  }

  /** Whether there is such a chain; `unknown` if the tables could not be read for now. */
  async chainExists(table: IptablesTable, chain: string): Promise<boolean | 'unknown'> {
    const finished = await this.#run('-S', table, chain);
    return finished?.exitCode === resourceProblem ? 'unknown' : finished?.exitCode === 0;
  }

  /** Returns how many rules a chain has; 0 if there is no such chain. */
  async ruleCount(table: IptablesTable, chain: string): Promise<number> {
    const finished = await this.#run('-S', table, chain);
    return finished?.exitCode === 0 ? finished.output.split('\n').filter(line => line.startsWith('-A ')).length : 0;
  }

  /** A rule that is not there is no error. */
  async deleteRule(table: IptablesTable, chain: string, rule: readonly string[]): Promise<void> {
    if (!(await this.#hasRule(table, chain, rule))) return;
    const finished = await this.#run('-D', table, chain, rule);
    if (finished?.exitCode !== 0) throw new Error(`error deleting rule: ${this.#reason(finished)}`);
  }

  /** Returns whether an empty chain to which no rule jumps was deleted. */
  async deleteChain(table: IptablesTable, chain: string): Promise<boolean> {
    return (await this.#run('-X', table, chain))?.exitCode === 0;
  }

  async #hasRule(table: IptablesTable, chain: string, rule: readonly string[]): Promise<boolean> {
    const finished = await this.#run('-C', table, chain, rule);
    if (finished?.exitCode !== 0 && finished?.exitCode !== 1) throw new Error(`error checking rule: ${this.#reason(finished)}`);
    return finished.exitCode === 0;
  }

  #run(operation: string, table: IptablesTable, chain: string, rule: readonly string[] = []): ReturnType<Host['execute']> {
    return this.#host.execute(programs[this.family], ['-w', waitSeconds, operation, chain, '-t', table, ...rule]);
  }

  #reason(finished: Awaited<ReturnType<Host['execute']>>): string {
    return finished ? `exit status ${finished.exitCode}: ${finished.output.trim()}` : `${programs[this.family]} is not installed`;
  }
}

/** Returns the families of which the machine has tables. */
export const presentIptables = async (host: Pick<Host, 'execute'>): Promise<readonly Iptables[]> => {
  const present: Iptables[] = [];
  for (const family of ['IPv4', 'IPv6'] as const) {
    const iptables = new Iptables(family, host);
    if (await iptables.isPresent()) present.push(iptables);
  }
  return present;
};
