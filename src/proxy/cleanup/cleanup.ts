// Removes the rules of the modes that are not in use, or of all. What others have put into the kernel stays.

import type {Log} from '#src/base/log.js';
import {removeIptables} from '#src/proxy/iptables/remove-iptables.js';
import type {ProxyKernel} from '#src/proxy/kernel/kernel.js';
import type {ModeName} from '#src/proxy/modes/prepare.js';
import {removeNftables} from '#src/proxy/nftables/nftables-mode.js';

/** Removes the rules of all modes. Rejects if something could not be removed. */
export const removeAllRules = async (kernel: Pick<ProxyKernel, 'run'>, log: Log): Promise<void> => {
  const failures = [await removeIptables(kernel, log), await removeNftables(kernel, log)];
  if (failures.includes(true)) throw new Error('encountered an error while tearing down rules');
};

/** Removes what an earlier proxy of the other mode has left. Failures are logged. */
export const removeOtherRules = async (mode: ModeName, kernel: Pick<ProxyKernel, 'run'>, log: Log): Promise<void> => {
  await (mode === 'nftables' ? removeIptables : removeNftables)(kernel, log);
};
