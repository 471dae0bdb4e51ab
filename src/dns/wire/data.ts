import {parseIp} from '#src/base/ip-address.js';
import {recordTypes as type} from './codes.js';
import type {WireName} from './names.js';

/** The type of record and the data of an address; undefined for a text that is none. */
export interface AddressData {
  readonly type: number;
  readonly data: string;
}

const fromHex = (hex: string): string => Buffer.from(hex, 'hex').toString('latin1');

/** Parses an address, without leading zeros. */
export const addressData = (text: string): AddressData | undefined => {
  const address = parseIp(text);
  if (!address) return undefined;
  // Addresses of IPv4 within IPv6 are of IPv4, as they are everywhere in a cluster.
  if (address.family === 4 || address.mapped)
    return {type: type.A, data: fromHex((address.value & 0xffff_ffffn).toString(16).padStart(8, '0'))};
  return {type: type.AAAA, data: fromHex(address.value.toString(16).padStart(32, '0'))};
};

const uint16 = (value: number): string => String.fromCharCode((value >> 8) & 0xff, value & 0xff);
const uint32 = (value: number): string => uint16(value >>> 16) + uint16(value & 0xffff);

/** The data of a TXT record with one text of at most 255 bytes. */
export const textData = (text: string): string => String.fromCharCode(text.length) + text;

export const serviceData = (weight: number, port: number, target: WireName): string => uint16(0) + uint16(weight) + uint16(port) + target;

/** The parts of a SOA record. Times are in seconds. */
export interface AuthorityData {
  readonly nameserver: WireName;
  readonly mailbox: WireName;
  readonly serial: number;
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  readonly minimum: number;
}

export const authorityData = ({nameserver, mailbox, serial, refresh, retry, expire, minimum}: AuthorityData): string =>
  nameserver + mailbox + [serial, refresh, retry, expire, minimum].map(uint32).join('');
