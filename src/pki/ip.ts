// IP addresses as text and as the bytes in certificates (RFC 5280 §4.2.1.6). IPv4-mapped addresses count as IPv4, as in
// Go.

import {parseIp} from '#src/base/ip-address.js';
import {PkiError} from '#src/pki/encoding/error.js';

const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex');

const isMapped = (bytes: Buffer): boolean => bytes.length === 16 && bytes.subarray(0, 12).equals(mappedPrefix);

const dot = 0x2e;
const zero = 0x30;

/** Returns the 4 bytes of an address in dotted decimal without leading zeros; undefined for other text. */
const ipv4Bytes = (text: string): Buffer | undefined => {
  const bytes = Buffer.allocUnsafe(4);
  let count = 0;
  let digits = 0;
  let value = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at === text.length ? dot : text.charCodeAt(at);
    const digit = code - zero;
    if (code === dot && digits > 0 && value < 256 && count < 4) {
      bytes[count++] = value;
      digits = value = 0;
    } else if (digit >= 0 && digit <= 9 && digits < 3 && !(digits > 0 && value === 0)) {
      value = 10 * value + digit;
      digits++;
    } else return undefined;
  }
  return count === 4 ? bytes : undefined;
};

const ipv6Bytes = (text: string): Buffer => {
  const [head = '', tail] = text.split('::');
  const groupBytes = (groups: string): Buffer =>
    Buffer.concat(
      groups
        .split(':')
        .filter(group => group !== '')
        .map(group => (group.includes('.') ? ipv4Bytes(group)! : Buffer.from(group.padStart(4, '0'), 'hex'))),
    );
  const front = groupBytes(head);
  const back = groupBytes(tail ?? '');
  return Buffer.concat([front, Buffer.alloc(16 - front.length - back.length), back]);
};

/**
 * Whether a host is an IP address, perhaps with a zone. Not `isIP` of Node.js, whose first look at a name that is not
 * IPv4 compiles a pattern for 5 ms.
 */
export const isAddress = (host: string): boolean => parseIp(host.split('%', 1)[0]!) !== undefined;

/** Returns the 4 or 16 bytes of an IP address. IPv4-mapped IPv6 addresses have 4. */
export const ipBytes = (text: string): Buffer => {
  const four = ipv4Bytes(text);
  if (four) return four;
  if (parseIp(text)?.family !== 6) throw new PkiError(`not an IP address: ${JSON.stringify(text)}`);
  const bytes = ipv6Bytes(text);
  return isMapped(bytes) ? bytes.subarray(12) : bytes;
};

/** Formats 4 or 16 bytes: dotted decimal, or RFC 5952. */
export const ipText = (bytes: Buffer): string => {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (isMapped(bytes)) return ipText(bytes.subarray(12));
  const groups = Array.from({length: 8}, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  const runs = groups.map((_, index) => {
    const end = groups.findIndex((group, at) => at >= index && group !== '0');
    return (end < 0 ? groups.length : end) - index;
  });
  const longest = Math.max(...runs);
  if (longest < 2) return groups.join(':');
  const start = runs.indexOf(longest);
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + longest).join(':')}`;
};
