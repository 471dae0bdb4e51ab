import {isIP} from 'node:net';

/** Where to bind for an address as the flag has it: every interface means both families, or the fourth alone on a host without the sixth. */
export const hostsToTry = (bindAddress: string): readonly string[] =>
  bindAddress === '' || bindAddress === '0.0.0.0' || bindAddress === '::' ? ['::', '0.0.0.0'] : [bindAddress];

/** Whether the host cannot do the address family at all. */
export const lacksFamily = (error: unknown): boolean =>
  ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '');

const causes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use already: choose another, or 0 for a free one',
  EACCES: 'this user may not bind to this port',
  EADDRNOTAVAIL: 'the host has no such address',
  ENOTFOUND: 'this is not an address of the host',
  EINVAL: 'this is not an address of the host',
};

/** One line that names the flags to change. What the system said is added only where it is not explained. */
export const bindError = (cause: unknown, bindAddress: string, port: number): Error => {
  const {code, message} = cause as NodeJS.ErrnoException;
  const host = isIP(bindAddress) === 6 ? `[${bindAddress}]` : bindAddress;
  const known = causes[code ?? ''];
  return new Error(`cannot listen on ${host}:${port} (--bind-address, --secure-port): ${known ?? message}`, known === undefined ? {cause} : {});
};

/** Throws where this version of Node cannot set SO_REUSEPORT. */
export const refusePortSharing = (version: string): void => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 12) || (major === 23 && minor < 1)) {
    throw new Error(`--permit-port-sharing needs Node.js 22.12 or later; this is ${version}`);
  }
};
