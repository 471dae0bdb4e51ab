// The two families of addresses. A proxy has one rule set for each.

import {parseLooseIp, parseRange, type IpRange} from '#src/base/ip-address.js';

export type IpFamily = 'IPv4' | 'IPv6';

export const ipFamilies: readonly IpFamily[] = ['IPv4', 'IPv6'];

export const otherFamily = (family: IpFamily): IpFamily => (family === 'IPv4' ? 'IPv6' : 'IPv4');

/** The family of an address by the loose rules of older fields; undefined for what is no address. */
export const familyOfIp = (text: string): IpFamily | undefined => {
  const address = parseLooseIp(text);
  return address && `IPv${address.family}`;
};

/** Parses a range by the loose rules of older fields, which let blanks stand around it. */
export const parseLooseRange = (text: string): IpRange | undefined => parseRange(text.trim(), true);

/** The family of a range; undefined for what is no range. */
export const familyOfRange = (text: string): IpFamily | undefined => {
  const range = parseLooseRange(text);
  return range && `IPv${range.address.family}`;
};

/** Joins an address and a port, with an IPv6 address in brackets. */
export const hostAndPort = (ip: string, port: number): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`);
