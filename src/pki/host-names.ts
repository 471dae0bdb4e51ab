import {isIP} from 'node:net';
import type {AlternativeNames} from './alternative-names.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {ipBytes, ipText} from './ip.js';

/** Returns a host name in lower case without a trailing dot. */
export const normalHost = (host: string): string => host.toLowerCase().replace(/\.$/, '');

/** Whether a pattern matches a host name. A leading `*.` stands for exactly one label (RFC 6125 §6.4.3). */
const patternCovers = (pattern: string, host: string): boolean => {
  const [wanted, name] = [normalHost(pattern), normalHost(host)];
  if (!wanted.startsWith('*.')) return wanted === name;
  const dot = name.indexOf('.');
  return dot > 0 && name.slice(dot) === wanted.slice(1);
};

/**
 * Whether the alternative names include a host: a DNS name or an IP address, with or without brackets. Common names are
 * not considered.
 */
export const coversHost = (names: AlternativeNames, host: string): boolean => {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) > 0) return names.ipAddresses.includes(ipText(ipBytes(bare)));
  return host !== '' && names.dnsNames.some(pattern => patternCovers(pattern, host));
};

/** Throws if the alternative names do not include the host. */
export const checkHost = (names: AlternativeNames, host: string): void => {
  if (coversHost(names, host)) return;
  const valid = [...names.dnsNames, ...names.ipAddresses];
  if (valid.length === 0) throw new PkiError(`x509: certificate is not valid for any names, but wanted to match ${host}`);
  throw new PkiError(`x509: certificate is valid for ${valid.join(', ')}, not ${host}`);
};
