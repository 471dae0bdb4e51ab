// Keeps the chains of the agent in iptables, for other programs of the machine. When someone flushes the tables, the
// canary chains vanish with the others, and all are created again.

import {runEvery, sleep, type Clock} from '#src/base/clock.js';
import type {AgentFeature, FeatureContext} from '#src/platlet/feature/feature.js';
import {canaryChain, canaryTables, ensureCanaries, ensureChains, type CreatedChain} from './chains.js';
import {keepChain} from './created-chains.js';
import {presentIptables, type Iptables} from './iptables.js';

const periodMs = 60_000;
/** How long someone may take to flush all tables, after the first. */
const flushMs = 5_000;
const flushPollMs = 100;

type Parts = Pick<FeatureContext, 'host' | 'clock' | 'log' | 'signal'> & {readonly root: string};

export const utilityChains: AgentFeature = {
  name: 'utility chains of iptables',
  async start({settings, flags, host, clock, log, signal}) {
    if (!settings.makeIPTablesUtilChains) return;
    const present = await presentIptables(host);
    if (present.length === 0) log.info('no iptables on this machine: its utility chains are not created');
    for (const iptables of present) {
      const chains = new UtilityChains(iptables, {host, clock, log, signal, root: flags.rootDir});
      const {family} = iptables;
      if (!(await chains.ensure())) {
        log.info({family}, 'failed to create the utility chains of iptables');
        continue;
      }
      log.info({family}, 'created the utility chains of iptables');
      await chains.check();
      runEvery(clock, periodMs, signal, () => chains.check());
    }
  },
};

/** The chains of a family. */
class UtilityChains {
  readonly #iptables: Iptables;
  readonly #parts: Parts;
  #hasCanaries = false;

  constructor(iptables: Iptables, parts: Parts) {
    this.#iptables = iptables;
    this.#parts = parts;
  }

  /** Returns whether the chains exist. */
  ensure(): Promise<boolean> {
    return this.#attempt('failed to ensure the utility chains of iptables', note => ensureChains(this.#iptables, note));
  }

  /** Creates the canaries, or looks whether they are still there. */
  async check(): Promise<void> {
    if (this.#hasCanaries) {
      const exists = await this.#iptables.chainExists(canaryTables[0]!, canaryChain);
      if (exists === 'unknown') this.#parts.log.error({chain: canaryChain}, 'failed to look for the canary of iptables');
      if (exists) return;
      this.#parts.log.v(2).info({family: this.#iptables.family}, 'the tables of iptables were flushed');
      await this.#wholeFlush(this.#parts.clock);
      await this.ensure();
    }
    this.#hasCanaries = await this.#attempt('failed to create the canary of iptables', note => ensureCanaries(this.#iptables, note));
  }

  /** Resolves when the other canaries have vanished as well. */
  async #wholeFlush(clock: Clock): Promise<void> {
    const end = clock.monotonic() + flushMs;
    const isFlushed = async (): Promise<boolean> => {
      for (const table of canaryTables.slice(1)) if (await this.#iptables.chainExists(table, canaryChain)) return false;
      return true;
    };
    while (!(await isFlushed())) {
      if (clock.monotonic() >= end) {
        this.#parts.log.info({family: this.#iptables.family}, 'only some tables of iptables were flushed');
        return;
      }
      await sleep(clock, flushPollMs, this.#parts.signal);
    }
  }

  async #attempt(failure: string, work: (note: (created: CreatedChain) => Promise<void>) => Promise<void>): Promise<boolean> {
    const {host, root, log} = this.#parts;
    const {family} = this.#iptables;
    try {
      await work(created => keepChain(host, root, family, created));
      return true;
    } catch (error) {
      log.error({err: error, family}, failure);
      return false;
    }
  }
}
