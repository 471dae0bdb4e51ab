// SELinux on the machine: whether it is enabled, and which file systems keep its labels.

import type {Host, MountPoint} from './host.js';

/**
 * Whether SELinux is enabled: its file system is mounted and can be written to, and a policy is loaded. `label`: the
 * label of this process, which is `kernel` without a policy.
 */
export const isSelinuxEnabled = (mounts: readonly Pick<MountPoint, 'type' | 'options'>[], label: string): boolean =>
  mounts.some(({type, options}) => type === 'selinuxfs' && !options.includes('ro')) && label.replace(/\0$/, '') !== 'kernel';

/** Whether files at a path have labels of their own. Rejects if nothing is mounted there. */
export const keepsLabels = async (host: Pick<Host, 'mounts' | 'isSelinuxEnabled'>, path: string): Promise<boolean> => {
  if (!(await host.isSelinuxEnabled())) return false;
  const mount = (await host.mounts()).findLast(({path: base}) => base === '/' || path === base || path.startsWith(`${base}/`));
  if (!mount) throw new Error(`cannot find mount point for ${JSON.stringify(path)}`);
  return mount.options.includes('seclabel');
};
