// Removes the chains of the mode iptables, and what jumps to them.

import type {Log} from '#src/base/log.js';
import type {ProxyKernel} from '#src/proxy/kernel/kernel.js';
import {ipFamilies} from '#src/proxy/state/ip-family.js';
import {deleteJumps, sharedChains} from './base-rules.js';
import {Iptables} from './iptables.js';
import {chainLine, chains, isPortChain, type Table} from './names.js';

/** Empties and deletes those chains of a table that are the proxy's. */
const removeChains = async (iptables: Iptables, table: Exclude<Table, 'mangle'>): Promise<void> => {
  const shared: readonly string[] = [...sharedChains[table], chains.canary];
  const own = (await iptables.chainsOf(table)).filter(chain => shared.includes(chain) || (table === 'nat' && isPortChain(chain)));
  if (own.length === 0) return;
  const lines = [`*${table}`, ...own.map(chainLine), ...own.map(chain => `-X ${chain}`), 'COMMIT'];
  await iptables.restore(`${lines.join('\n')}\n`);
};

/**
 * Removes the rules of both families, where the machine has iptables. The chain that node agents share stays. Returns
 * whether something failed, which is logged.
 */
export const removeIptables = async (kernel: Pick<ProxyKernel, 'run'>, log: Log): Promise<boolean> => {
  const errors: unknown[] = [];
  const noteFailure = (error: unknown): void => void errors.push(error);
  for (const family of ipFamilies) {
    const iptables = new Iptables(family, kernel);
    if ((await iptables.problem()) !== undefined) continue;
    errors.push(...(await deleteJumps(iptables)));
    for (const table of ['nat', 'filter'] as const) await removeChains(iptables, table).catch(noteFailure);
    await iptables.deleteChain('mangle', chains.canary);
  }
  for (const error of errors) log.error({err: error}, 'failed to remove a rule of iptables');
  return errors.length > 0;
};
