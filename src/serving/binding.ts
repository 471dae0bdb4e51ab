import {isIP} from 'node:net';

/**
 * The addresses to try for the value of the flag: all interfaces of both families, or of IPv4 alone on a host without
 * IPv6.
 */
export const hostsToTry = (bindAddress: string): readonly string[] =>
  bindAddress === '' || bindAddress === '0.0.0.0' || bindAddress === '::' ? ['::', '0.0.0.0'] : [bindAddress];

/** Whether the host lacks the address family. */
export const lacksFamily = (error: unknown): boolean =>
  ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '');

const causes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use already: choose another, or 0 for a free one',
  EACCES: 'this user may not bind to this port',
  ENOTFOUND: 'this is not an address of the host',
  EINVAL: 'this is not an address of the host',
};

/** On a host without the loopback address of one family, that of the other may be there. */
const noAddress = (bindAddress: string, flags: string): string => {
  const other = bindAddress.startsWith('127.') ? '::1' : bindAddress === '::1' ? '127.0.0.1' : undefined;
  const [flag = ''] = flags.split(',', 1);
  return `the host has no such address${other === undefined ? '' : `: give ${flag}=${other}`}`;
};

/** An error of one line that names the flags to change. The system's message is added only where there is no better explanation. */
export const bindError = (cause: unknown, bindAddress: string, port: number, flags = '--bind-address, --secure-port'): Error => {
  const {code, message} = cause as NodeJS.ErrnoException;
  const host = isIP(bindAddress) === 6 ? `[${bindAddress}]` : bindAddress;
  const known = code === 'EADDRNOTAVAIL' ? noAddress(bindAddress, flags) : causes[code ?? ''];
  return new Error(`cannot listen on ${host}:${port} (${flags}): ${known ?? message}`, known === undefined ? {cause} : {});
};

/** Throws if this version of Node cannot set SO_REUSEPORT. */
export const refusePortSharing = (version: string): void => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 12) || (major === 23 && minor < 1)) {
    throw new Error(`--permit-port-sharing needs Node.js 22.12 or later; this is ${version}`);
  }
};
