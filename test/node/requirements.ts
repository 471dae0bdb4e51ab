import {existsSync} from 'node:fs';
import {delimiter, join} from 'node:path';

const places = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];

/** Whether a program is installed. */
export const isInstalled = (program: string): boolean => places.some(place => existsSync(join(place, program)));

/** The Debian package of each program that real containers need. */
const programs = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  ip: 'iproute2',
  iptables: 'iptables',
  busybox: 'busybox-static',
  nsenter: 'util-linux',
  unshare: 'util-linux',
} as const;

/** Where Debian installs the network plugins. */
export const networkPlugins = '/usr/lib/cni';

/** Why containers cannot run here; undefined where they can. */
export const containersMissing = ((): string | undefined => {
  if (process.platform !== 'linux') return 'real containers need Linux';
  if (process.getuid?.() !== 0) return 'real containers need root';
  if (!existsSync('/sys/fs/cgroup')) return 'real containers need cgroups at /sys/fs/cgroup';
  const packages = new Set<string>(Object.entries(programs).flatMap(([program, name]) => (isInstalled(program) ? [] : [name])));
  if (!existsSync(join(networkPlugins, 'bridge'))) packages.add('containernetworking-plugins');
  return packages.size > 0 ? `real containers need what is not installed (Debian: apt-get install ${[...packages].join(' ')})` : undefined;
})();

/** Why services cannot be routed for containers here; undefined where they can. */
export const servicesMissing =
  containersMissing ?? (isInstalled('nft') ? undefined : 'services need what is not installed (Debian: apt-get install nftables)');
