// What was written to the table, by service port, and the commands that make the table be as it should.

import {proxyTable} from '#src/api/naming.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {Elements} from './elements.js';
import {familyWords} from './expressions.js';
import {containers} from './names.js';
import type {ExistingTable} from './nft.js';
import type {PortRules} from './port-rules.js';

/** Commands by their place in a transaction: nothing is used before it is there, or deleted while it is used. */
interface Commands {
  readonly chains: string[];
  readonly staleChains: string[];
  readonly sets: string[];
  readonly rules: string[];
  readonly staleSets: string[];
}

const sameRules = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a !== undefined && a.length === b.length && a.every((rule, index) => rule === b[index]);

const mentions = (rules: readonly string[], sets: ReadonlySet<string>): boolean =>
  sets.size > 0 && rules.some(rule => [...sets].some(set => rule.includes(`@${set} `)));

/**
 * The rules of services in the table. Kernels before 6.2 notice late that an element no longer leads to a chain, so a
 * chain that is not needed any more is only emptied at first, and deleted later.
 */
export class ServiceTable {
  readonly #at: string;
  readonly #ports = new Map<string, PortRules>();
  /** The chains that exist, with their rules; undefined if those are unknown. */
  readonly #chains = new Map<string, readonly string[] | undefined>();
  readonly #affinitySets = new Map<string, number>();
  readonly #elements: Elements;
  /** The chains that are empty and not needed any more, with the time since when. */
  readonly #stale = new Map<string, number>();

  constructor(family: IpFamily) {
    this.#at = `${familyWords[family].ip} ${proxyTable.name}`;
    this.#elements = new Elements(this.#at);
  }

  /** Forgets what was written. The next update writes everything and makes stale what exists beside it. */
  reset(existing: ExistingTable): void {
    this.#ports.clear();
    this.#chains.clear();
    this.#affinitySets.clear();
    this.#elements.clear();
    this.#stale.clear();
    for (const chain of existing.chains) this.#chains.set(chain, undefined);
    for (const [set, seconds] of existing.affinitySets) this.#affinitySets.set(set, seconds);
  }

  /** The commands that empty the maps and sets. */
  get emptying(): string[] {
    return containers.map(name => `flush ${name === 'cluster-ips' ? 'set' : 'map'} ${this.#at} ${name}`);
  }

  /** How many service ports lack local endpoints. */
  get lackingLocal(): {readonly internal: number; readonly external: number} {
    const all = [...this.#ports.values()];
    const count = (policy: 'internal' | 'external') => all.filter(({lacksLocal}) => lacksLocal[policy]).length;
    return {internal: count('internal'), external: count('external')};
  }

  /** The chains that have been stale since before a time. */
  staleBefore(time: number): readonly string[] {
    return [...this.#stale].flatMap(([chain, since]) => (since < time ? [chain] : []));
  }

  /** The commands that delete chains. */
  deleting(chains: readonly string[]): string[] {
    return chains.map(chain => `delete chain ${this.#at} ${chain}`);
  }

  /** Takes note that chains were deleted. */
  deleted(chains: readonly string[]): void {
    for (const chain of chains) {
      this.#stale.delete(chain);
      this.#chains.delete(chain);
    }
  }

  /**
   * Replaces the rules of service ports; undefined ones are deleted. With `all`, other chains and sets are as well.
   * Returns the commands. The table counts as written: after a failure it must be reset.
   */
  update(changed: ReadonlyMap<string, PortRules | undefined>, now: number, all: boolean): string[] {
    const commands: Commands = {chains: [], sets: [], rules: [], staleChains: [], staleSets: []};
    for (const [key, rules] of changed) this.#replace(key, rules, now, commands);
    if (all) this.#dropOthers(now, commands);
    return [
      ...commands.chains,
      ...commands.staleChains,
      ...commands.sets,
      ...commands.rules,
      ...this.#elements.flush(),
      ...commands.staleSets,
    ];
  }

  #replace(key: string, rules: PortRules | undefined, now: number, commands: Commands): void {
    const before = this.#ports.get(key);
    if (rules) {
      const renewed = this.#writeSets(rules, commands);
      for (const [chain, lines] of rules.chains) this.#writeChain(chain, lines, mentions(lines, renewed), commands);
    }
    for (const chain of before?.chains.keys() ?? []) if (!rules?.chains.has(chain)) this.#makeStale(chain, now, commands);
    for (const set of before?.affinitySets.keys() ?? []) if (!rules?.affinitySets.has(set)) this.#deleteSet(set, commands);
    this.#elements.replace(key, before?.elements ?? [], rules?.elements ?? []);
    if (rules) this.#ports.set(key, rules);
    else this.#ports.delete(key);
  }

  /** Returns the sets that are made anew, since their timeout cannot be changed. */
  #writeSets({affinitySets}: PortRules, commands: Commands): ReadonlySet<string> {
    const renewed = new Set<string>();
    const type = this.#at.startsWith('ip6 ') ? familyWords.IPv6.address : familyWords.IPv4.address;
    for (const [set, seconds] of affinitySets) {
      const known = this.#affinitySets.get(set);
      if (known === seconds) continue;
      if (known !== undefined) {
        renewed.add(set);
        commands.sets.push(`delete set ${this.#at} ${set}`);
      }
      commands.sets.push(`add set ${this.#at} ${set} { type ${type} ; flags dynamic,timeout ; timeout ${seconds}s ; }`);
      this.#affinitySets.set(set, seconds);
    }
    return renewed;
  }

  #writeChain(chain: string, rules: readonly string[], rewrites: boolean, commands: Commands): void {
    const exists = this.#chains.has(chain);
    if (exists && !rewrites && sameRules(this.#chains.get(chain), rules)) return;
    commands.chains.push(`${exists ? 'flush' : 'add'} chain ${this.#at} ${chain}`);
    for (const rule of rules) commands.rules.push(`add rule ${this.#at} ${chain} ${rule}`);
    this.#chains.set(chain, rules);
    this.#stale.delete(chain);
  }

  #makeStale(chain: string, now: number, commands: Commands): void {
    commands.staleChains.push(`flush chain ${this.#at} ${chain}`);
    this.#chains.set(chain, []);
    this.#stale.set(chain, now);
  }

  #deleteSet(set: string, commands: Commands): void {
    commands.staleSets.push(`delete set ${this.#at} ${set}`);
    this.#affinitySets.delete(set);
  }

  #dropOthers(now: number, commands: Commands): void {
    for (const [chain, rules] of this.#chains) if (rules === undefined) this.#makeStale(chain, now, commands);
    const used = new Set([...this.#ports.values()].flatMap(({affinitySets}) => [...affinitySets.keys()]));
    for (const set of this.#affinitySets.keys()) if (!used.has(set)) this.#deleteSet(set, commands);
  }
}
