// Finds out when someone flushes the tables: an empty chain in each vanishes with the others.

import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Iptables} from './iptables.js';
import {chains, type Table} from './names.js';

/** In the order in which they are looked at. */
const tables: readonly Table[] = ['mangle', 'nat', 'filter'];
/** How long someone may take to flush all tables, after the first. */
const flushMs = 5_000;
const flushPollMs = 100;

export interface CanaryParts {
  readonly iptables: Iptables;
  readonly periodMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called after a flush. */
  flushed(): void;
}

/** Watches the tables until the signal aborts. The chains stay then, as the rules do. */
export const watchFlushes = async ({iptables, periodMs, clock, log, signal, flushed}: CanaryParts): Promise<void> => {
  const exists = async (table: Table): Promise<boolean> => (await iptables.chainExists(table, chains.canary)) !== false;
  const created = async (): Promise<boolean> => {
    try {
      for (const table of tables) await iptables.ensureChain(table, chains.canary);
      return true;
    } catch (error) {
      log.error({err: error, ipFamily: iptables.family}, 'failed to create the canary of iptables');
      return false;
    }
  };
  const wholeFlush = async (): Promise<void> => {
    const end = clock.monotonic() + flushMs;
    const isFlushed = async (): Promise<boolean> => {
      for (const table of tables.slice(1)) if (await exists(table)) return false;
      return true;
    };
    while (!(await isFlushed())) {
      if (clock.monotonic() >= end) return log.info({ipFamily: iptables.family}, 'only some tables of iptables were flushed');
      await sleep(clock, flushPollMs, signal);
    }
  };
  let hasCanaries = await created();
  while (!signal.aborted) {
    await sleep(clock, periodMs, signal);
    if (hasCanaries) {
      if (await exists(tables[0]!)) continue;
      log.v(2).info({ipFamily: iptables.family}, 'the tables of iptables were flushed');
      await wholeFlush();
      flushed();
    }
    hasCanaries = await created();
  }
};
