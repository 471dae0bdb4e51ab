import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Rejection} from './rejection.js';

/** The safe sysctls, which are namespaced and isolated between pods. */
const safe = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
]);

const ofIpc = /^(?:kernel\.(?:shm.*|msg.*|sem)|fs\.mqueue\..*)$/;
const ofNetwork = /^net\./;

/** Returns the name of a sysctl with dots as separators. */
export const dottedSysctl = (name: string): string => {
  const first = /[./]/.exec(name)?.[0];
  return first === '/' ? name.replaceAll(/[./]/g, char => (char === '/' ? '.' : '/')) : name;
};

/** Whether a sysctl matches a name, or a pattern that ends in `*`. */
const isAllowed = (name: string, unsafe: readonly string[]): boolean =>
  safe.has(name) ||
  unsafe.map(dottedSysctl).some(pattern => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name));

/** Returns the rejection of forbidden sysctls. `unsafe`: the unsafe sysctls that the node allows. */
export const sysctlRejection = ({spec}: Frozen<Pod>, unsafe: readonly string[]): Rejection | undefined => {
  const refused = (why: string): Rejection => ({reason: 'SysctlForbidden', message: `forbidden sysctl: ${why}`});
  for (const {name: written} of spec?.securityContext?.sysctls ?? []) {
    const name = dottedSysctl(written);
    if (!isAllowed(name, unsafe)) return refused(`${JSON.stringify(written)} not allowlisted`);
    if (ofNetwork.test(name) && spec?.hostNetwork) return refused(`${JSON.stringify(written)} not allowed with host net enabled`);
    if (ofIpc.test(name) && spec?.hostIPC) return refused(`${JSON.stringify(written)} not allowed with host ipc enabled`);
  }
  return undefined;
};
