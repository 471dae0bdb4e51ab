// The SELinux label of the folders of plugins' sockets: plugins in containers without privileges may use them.

import type {Log} from '#src/base/log.js';
import type {Host} from '#src/platlet/host/host.js';

const label = 'system_u:object_r:container_file_t:s0';

/** Labels a folder of sockets on a machine with SELinux. A failure is logged: plugins with privileges still work. */
export const labelPluginFolder = async (
  host: Pick<Host, 'isSelinuxEnabled' | 'execute'>,
  log: Pick<Log, 'error'>,
  folder: string,
): Promise<void> => {
  if (!(await host.isSelinuxEnabled())) return;
  try {
    const ended = await host.execute('chcon', [label, folder]);
    if (!ended) throw new Error('chcon is not installed');
    if (ended.exitCode !== 0) throw new Error(ended.output.trim());
  } catch (error) {
    log.error({folder, err: error}, 'unprivileged containerized plugins may not work: failed to set the SELinux label of their folder');
  }
};
