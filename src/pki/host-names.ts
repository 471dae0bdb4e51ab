import {isIP} from 'node:net';
import type {AlternativeNames} from './alternative-names.js';
import {PkiError} from './error.js';
import {ipBytes, ipText} from './ip.js';

/** Lower case, without a trailing dot. */
export const normalHost = (host: string): string => host.toLowerCase().replace(/\.$/, '');

/** Whether a pattern covers a host name. A leading `*.` stands for exactly one label (RFC 6125 §6.4.3). */
export const patternCovers = (pattern: string, host: string): boolean => {
  const [wanted, name] = [normalHost(pattern), normalHost(host)];
  if (!wanted.startsWith('*.')) return wanted === name;
  const dot = name.indexOf('.');
  return dot > 0 && name.slice(dot) === wanted.slice(1);
};

/** Whether a certificate's alternative names cover a host, which may be an IP address, bare or in brackets. Common names do not count. */
export const coversHost = (names: AlternativeNames, host: string): boolean => {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) > 0) return names.ipAddresses.includes(ipText(ipBytes(bare)));
  return host !== '' && names.dnsNames.some(pattern => patternCovers(pattern, host));
};

/** Refuses a host that the certificate's alternative names do not cover. */
export const checkHost = (names: AlternativeNames, host: string): void => {
  if (coversHost(names, host)) return;
  const valid = [...names.dnsNames, ...names.ipAddresses];
  if (valid.length === 0) throw new PkiError(`x509: certificate is not valid for any names, but wanted to match ${host}`);
  throw new PkiError(`x509: certificate is valid for ${valid.join(', ')}, not ${host}`);
};
