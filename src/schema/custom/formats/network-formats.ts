import {parseIp, parseRange} from '#src/base/ip-address.js';

/** Reports whether the text is an address with dots, including IPv4-mapped IPv6 and leading zeros. */
export const isIpv4 = (text: string): boolean => text.includes('.') && text.length <= 64 && parseIp(text, true) !== undefined;

export const isIpv6 = (text: string): boolean => text.includes(':') && text.length <= 64 && parseIp(text) !== undefined;

export const isCidr = (text: string): boolean => text.length <= 64 && parseRange(text, true) !== undefined;

const groups = (count: number, digits: number, separator: string): string =>
  `[0-9a-fA-F]{${digits}}(?:${separator}[0-9a-fA-F]{${digits}}){${count - 1}}`;

/** Six, eight or twenty bytes, in pairs separated by colons or dashes, or in groups of four separated by dots. */
const mac = new RegExp(
  `^(?:${[6, 8, 20].flatMap(bytes => [groups(bytes, 2, ':'), groups(bytes, 2, '-'), groups(bytes / 2, 4, String.raw`\.`)]).join('|')})$`,
);

export const isMac = (text: string): boolean => text.length <= 64 && mac.test(text);
