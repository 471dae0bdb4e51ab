// Addresses and ranges of addresses (RFC 4291, RFC 4632) as whole numbers; written in the one form of RFC 5952.

/** An address. One of IPv4 that was written inside of IPv6 (`::ffff:1.2.3.4`) is `mapped`. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
  readonly mapped?: boolean;
}

/** Addresses that begin with the same bits. `address` may have bits beyond them. */
export interface IpRange {
  readonly address: IpAddress;
  readonly bits: number;
}

const width = {4: 32, 6: 128} as const;
const mappedBits = 0xffffn << 32n;

const octets = (text: string, anyZeros: boolean): bigint | undefined => {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0;
  for (const part of parts) {
    const number = Number(part);
    if (!/^\d+$/.test(part) || number > 255 || (!anyZeros && part !== String(number))) return undefined;
    value = value * 256 + number;
  }
  return BigInt(value);
};

const hextets = (text: string, anyZeros: boolean): bigint[] | undefined => {
  if (text === '') return [];
  const parts = text.split(':');
  const last = parts.at(-1)!;
  const values: bigint[] = [];
  for (const part of last.includes('.') ? parts.slice(0, -1) : parts) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
    values.push(BigInt(`0x${part}`));
  }
  if (!last.includes('.')) return values;
  const tail = octets(last, anyZeros);
  return tail === undefined ? undefined : [...values, tail >> 16n, tail & 0xffffn];
};

const longForm = (text: string, anyZeros: boolean): bigint | undefined => {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = [hextets(halves[0]!, anyZeros), hextets(halves[1] ?? '', anyZeros)];
  if (!head || !tail) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const all = [...head, ...Array<bigint>(missing).fill(0n), ...tail];
  return all.reduce((value, part) => (value << 16n) | part, 0n);
};

/** Reads an address without a zone. `anyZeros` also takes octets with leading zeros, as old programs wrote them. */
export const parseIp = (text: string, anyZeros = false): IpAddress | undefined => {
  if (!text.includes(':')) {
    const value = octets(text, anyZeros);
    return value === undefined ? undefined : {family: 4, value};
  }
  const value = longForm(text, anyZeros);
  if (value === undefined) return undefined;
  return value >> 32n === 0xffffn ? {family: 6, value, mapped: true} : {family: 6, value};
};

/** Reads `address/bits`. `anyZeros` also takes leading zeros in either part. */
export const parseRange = (text: string, anyZeros = false): IpRange | undefined => {
  const [front = '', length = '', ...rest] = text.split('/');
  const address = parseIp(front, anyZeros);
  if (rest.length > 0 || !address || !/^\d{1,3}$/.test(length)) return undefined;
  const bits = Number(length);
  return bits > width[address.family] || (!anyZeros && length !== String(bits)) ? undefined : {address, bits};
};

/** A mapped address as the one of IPv4 that it stands for, any other as it is. */
export const unmapped = (address: IpAddress): IpAddress => (address.mapped ? {family: 4, value: address.value & ~mappedBits} : address);

/** Parses an address by the loose rules of older fields; an IPv4-mapped IPv6 address is an IPv4 address. */
export const parseLooseIp = (text: string): IpAddress | undefined => {
  const address = parseIp(text, true);
  return address && unmapped(address);
};

/** Reports whether the text is an IPv6 address by the loose rules. */
export const isIpv6 = (text: string): boolean => parseLooseIp(text)?.family === 6;

const longestZeros = (parts: readonly bigint[]): {at: number; count: number} => {
  let longest = {at: 0, count: 0};
  for (let at = 0; at < parts.length; at++) {
    let count = 0;
    while (parts[at + count] === 0n) count++;
    if (count > longest.count) longest = {at, count};
    at += count;
  }
  return longest;
};

/** The canonical form (RFC 5952 §4). */
export const formatIp = ({family, value, mapped}: IpAddress): string => {
  if (family === 4) {
    const number = Number(value);
    return [24, 16, 8, 0].map(shift => (number >>> shift) & 0xff).join('.');
  }
  if (mapped) return `::ffff:${formatIp(unmapped({family, value, mapped}))}`;
  const parts = Array.from({length: 8}, (_, i) => (value >> BigInt(16 * (7 - i))) & 0xffffn);
  const text = (some: readonly bigint[]) => some.map(part => part.toString(16)).join(':');
  const {at, count} = longestZeros(parts);
  return count < 2 ? text(parts) : `${text(parts.slice(0, at))}::${text(parts.slice(at + count))}`;
};

/** How many bits an address has. */
export const addressBits = ({family}: IpAddress): number => width[family];

/** How many addresses a range holds. */
export const rangeSize = ({address, bits}: IpRange): bigint => 1n << BigInt(width[address.family] - bits);

/** The first address of a range: that of the network. */
export const rangeStart = (range: IpRange): IpAddress => ({...range.address, value: range.address.value & ~(rangeSize(range) - 1n)});

/** The canonical form of a range, without bits beyond its length. */
export const formatRange = (range: IpRange): string => `${formatIp(rangeStart(range))}/${range.bits}`;

/** Returns whether an address lies in a range. */
export const rangeHolds = (range: IpRange, {family, value}: IpAddress): boolean => {
  const start = rangeStart(range).value;
  return family === range.address.family && value >= start && value < start + rangeSize(range);
};

const loopback = parseRange('127.0.0.0/8')!;

/** Whether an address is one of the loopback, which its own machine alone reaches. */
export const isLoopback = (text: string): boolean => {
  const address = parseLooseIp(text);
  return address !== undefined && (rangeHolds(loopback, address) || (address.family === 6 && address.value === 1n));
};
