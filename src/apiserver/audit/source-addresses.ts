import {isIP} from 'node:net';
import type {ApiRequest} from '#src/api/request.js';

const first = (value: string | readonly string[] | undefined): string => (typeof value === 'string' ? value : (value?.[0] ?? ''));

/** Addresses of IPv4 in the form of IPv6 are the same addresses. */
const plain = (address: string): string => (address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '') : address);

/**
 * Returns the addresses that a request came through: those of `X-Forwarded-For`, that of `X-Real-Ip`, and the peer's,
 * each unless it is known already. All but the last are claims of the client.
 */
export const sourceAddresses = ({headers, remoteAddress}: Pick<ApiRequest, 'headers' | 'remoteAddress'>): string[] => {
  const addresses: string[] = [];
  const forwarded = first(headers['x-forwarded-for']);
  if (forwarded !== '') {
    for (const part of forwarded.split(',')) {
      const address = plain(part.trim());
      if (isIP(address) !== 0) addresses.push(address);
    }
  }
  const real = plain(first(headers['x-real-ip']));
  if (isIP(real) !== 0 && !addresses.includes(real)) addresses.push(real);
  const peer = plain(remoteAddress);
  if (isIP(peer) !== 0 && addresses.at(-1) !== peer) addresses.push(peer);
  return addresses;
};
