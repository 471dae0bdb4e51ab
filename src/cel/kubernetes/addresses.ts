// The CEL libraries of IP addresses and CIDRs, as in Kubernetes: their types, functions and costs.

import {formatIp, parseIp, parseRange, rangeHolds, rangeStart, type IpAddress, type IpRange} from '#src/base/ip-address.js';
import {declare, member, overload, type Library} from '#src/cel/check/declarations.js';
import {bool, int, opaqueType, string, type Type} from '#src/cel/values/types.js';
import {Failure, noSuchOverload, OpaqueValue, type Value} from '#src/cel/values/values.js';
import {addressError, prefixError, zoneOf} from './address-errors.js';

const ipType = opaqueType('net.IP');
const cidrType = opaqueType('net.CIDR');

/** An IP address value. */
class Ip extends OpaqueValue {
  readonly type: Type = ipType;
  override readonly size: number;
  readonly address: IpAddress;

  constructor(address: IpAddress) {
    super();
    this.address = address;
    this.size = address.family === 4 ? 4 : 16;
  }

  equals(other: Value): Value {
    return other instanceof Ip
      ? this.address.family === other.address.family && this.address.value === other.address.value
      : noSuchOverload;
  }
}

/** A CIDR value, with host bits as written. */
export class Cidr extends OpaqueValue {
  readonly type: Type = cidrType;
  /** The number of bytes that the prefix length covers. */
  override readonly size: number;
  readonly range: IpRange;

  constructor(range: IpRange) {
    super();
    this.range = range;
    this.size = Math.ceil(range.bits / 8);
  }

  equals(other: Value): Value {
    return other instanceof Cidr
      ? this.range.bits === other.range.bits && new Ip(this.range.address).equals(new Ip(other.range.address))
      : noSuchOverload;
  }
}

const mappedAddressMessage = (text: string): string => `IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`;

const toIp = (text: string): Ip | Failure => {
  const error = addressError(text);
  if (error !== undefined) return new Failure(`IP Address ${JSON.stringify(text)} parse error during conversion from string: ${error}`);
  if (zoneOf(text) !== '') return new Failure(`IP address ${JSON.stringify(text)} with zone value is not allowed`);
  const address = parseIp(text)!;
  return address.mapped ? new Failure(mappedAddressMessage(text)) : new Ip(address);
};

const cidrErrorPrefix = 'network address parse error during conversion from string: ';

const toCidr = (text: string): Cidr | Failure => {
  const error = prefixError(text);
  if (error !== undefined) return new Failure(`${cidrErrorPrefix}${cidrErrorPrefix}${error}`);
  const range = parseRange(text)!;
  return range.address.mapped ? new Failure(`${cidrErrorPrefix}${mappedAddressMessage(text)}`) : new Cidr(range);
};

const range = (text: string): IpRange => parseRange(text)!;
const inRanges =
  (...ranges: readonly string[]) =>
  (address: IpAddress): boolean =>
    ranges.map(range).some(one => rangeHolds(one, address));

const isUnspecified = inRanges('0.0.0.0/32', '::/128');
const isLoopback = inRanges('127.0.0.0/8', '::1/128');
const isMulticast = inRanges('224.0.0.0/4', 'ff00::/8');
const isLinkLocalUnicast = inRanges('169.254.0.0/16', 'fe80::/10');
const isBroadcast = inRanges('255.255.255.255/32');
const isGlobalUnicast = (address: IpAddress): boolean =>
  ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast, isBroadcast].some(is => is(address));
/** For IPv6 the flags between prefix and scope are ignored. */
const isLinkLocalMulticast = ({family, value}: IpAddress): boolean =>
  family === 4 ? value >> 8n === 0xe00000n : ((value >> 112n) & 0xff0fn) === 0xff02n;

const containsIp = ({range}: Cidr, ip: Ip | Failure): Value => (ip instanceof Ip ? rangeHolds(range, ip.address) : ip);
const containsCidr = ({range}: Cidr, other: Cidr | Failure): Value =>
  other instanceof Cidr ? rangeHolds(range, rangeStart(other.range)) && range.bits <= other.range.bits : other;

const ipPredicate = (name: string, id: string, is: (address: IpAddress) => boolean) =>
  declare(
    name,
    member(id, [ipType], bool, ({address}: Ip) => is(address)),
  );

/** The IP address library. */
export const ips: Library = {
  name: 'kubernetes.net.ip',
  types: [ipType],
  functions: [
    declare('ip', overload('string_to_ip', [string], ipType, toIp)),
    declare(
      'family',
      member('ip_family', [ipType], int, ({address}: Ip) => BigInt(address.family)),
    ),
    declare(
      'ip.isCanonical',
      overload('ip_is_canonical', [string], bool, (text: string) => {
        const ip = toIp(text);
        return ip instanceof Ip ? formatIp(ip.address) === text : ip;
      }),
    ),
    ipPredicate('isUnspecified', 'ip_is_unspecified', isUnspecified),
    ipPredicate('isLoopback', 'ip_is_loopback', isLoopback),
    ipPredicate('isLinkLocalMulticast', 'ip_is_link_local_multicast', isLinkLocalMulticast),
    ipPredicate('isLinkLocalUnicast', 'ip_is_link_local_unicast', isLinkLocalUnicast),
    ipPredicate('isGlobalUnicast', 'ip_is_global_unicast', isGlobalUnicast),
    declare(
      'isIP',
      overload('is_ip', [string], bool, (text: string) => toIp(text) instanceof Ip),
    ),
    declare(
      'string',
      overload('ip_to_string', [ipType], string, ({address}: Ip) => formatIp(address)),
    ),
  ],
};

/** The CIDR library. */
export const cidrs: Library = {
  name: 'kubernetes.net.cidr',
  types: [cidrType],
  functions: [
    declare('cidr', overload('string_to_cidr', [string], cidrType, toCidr)),
    declare(
      'containsIP',
      member('cidr_contains_ip_string', [cidrType, string], bool, (cidr: Cidr, text: string) => {
        const ip = toIp(text);
        return ip instanceof Ip ? containsIp(cidr, ip) : noSuchOverload;
      }),
      member('cidr_contains_ip_ip', [cidrType, ipType], bool, containsIp),
    ),
    declare(
      'containsCIDR',
      member('cidr_contains_cidr_string', [cidrType, string], bool, (cidr: Cidr, text: string) => containsCidr(cidr, toCidr(text))),
      member('cidr_contains_cidr', [cidrType, cidrType], bool, containsCidr),
    ),
    declare(
      'ip',
      member('cidr_ip', [cidrType], ipType, ({range: {address}}: Cidr) => new Ip(address)),
    ),
    declare(
      'prefixLength',
      member('cidr_prefix_length', [cidrType], int, ({range: {bits}}: Cidr) => BigInt(bits)),
    ),
    declare(
      'masked',
      member('cidr_masked', [cidrType], cidrType, ({range}: Cidr) => new Cidr({...range, address: rangeStart(range)})),
    ),
    declare(
      'isCIDR',
      overload('is_cidr', [string], bool, (text: string) => toCidr(text) instanceof Cidr),
    ),
    declare(
      'string',
      overload('cidr_to_string', [cidrType], string, ({range: {address, bits}}: Cidr) => `${formatIp(address)}/${bits}`),
    ),
  ],
};
