// Key usages and extended key usages: the names in signing requests, and the bits and object identifiers in
// certificates.

import {PkiError} from '#src/pki/encoding/error.js';

/** Bits of the key usage extension by name (RFC 5280 §4.2.1.3). */
export const keyUsageBits = {
  digitalSignature: 0,
  contentCommitment: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  certSign: 5,
  crlSign: 6,
  encipherOnly: 7,
  decipherOnly: 8,
} as const;

export type KeyUsageBit = keyof typeof keyUsageBits;

/** Key usage bits by the usage names of signing requests. */
const bitOf: Readonly<Record<string, KeyUsageBit>> = {
  signing: 'digitalSignature',
  'digital signature': 'digitalSignature',
  'content commitment': 'contentCommitment',
  'key encipherment': 'keyEncipherment',
  'key agreement': 'keyAgreement',
  'data encipherment': 'dataEncipherment',
  'cert sign': 'certSign',
  'crl sign': 'crlSign',
  'encipher only': 'encipherOnly',
  'decipher only': 'decipherOnly',
};

/** Extended usages in encoding order (RFC 5280 §4.2.1.12 and older conventions). */
const extended = [
  {name: 'any', oid: '2.5.29.37.0'},
  {name: 'server auth', oid: '1.3.6.1.5.5.7.3.1'},
  {name: 'client auth', oid: '1.3.6.1.5.5.7.3.2'},
  {name: 'code signing', oid: '1.3.6.1.5.5.7.3.3'},
  {name: 'email protection', oid: '1.3.6.1.5.5.7.3.4'},
  {name: 'ipsec end system', oid: '1.3.6.1.5.5.7.3.5'},
  {name: 'ipsec tunnel', oid: '1.3.6.1.5.5.7.3.6'},
  {name: 'ipsec user', oid: '1.3.6.1.5.5.7.3.7'},
  {name: 'timestamping', oid: '1.3.6.1.5.5.7.3.8'},
  {name: 'ocsp signing', oid: '1.3.6.1.5.5.7.3.9'},
  {name: 'microsoft sgc', oid: '1.3.6.1.4.1.311.10.3.3'},
  {name: 'netscape sgc', oid: '2.16.840.1.113730.4.1'},
] as const;

export type ExtendedUsage = (typeof extended)[number]['name'];

const extendedByName: ReadonlyMap<string, string> = new Map([
  ...extended.map(({name, oid}) => [name, oid] as const),
  ['s/mime', '1.3.6.1.5.5.7.3.4'] as const,
]);
const extendedByOid: ReadonlyMap<string, ExtendedUsage> = new Map(extended.map(({name, oid}) => [oid, name]));

/** The usages that a signing request may name. */
export const knownUsages: ReadonlySet<string> = new Set([...Object.keys(bitOf), ...extendedByName.keys()]);

/** Returns the name of an extended usage, or its object identifier if unknown. */
export const extendedUsageName = (oid: string): string => extendedByOid.get(oid) ?? oid;

/** The key usage bits and extended usages (object identifiers) of a certificate, each sorted and without duplicates. */
export interface CertificateUsages {
  readonly bits: readonly KeyUsageBit[];
  readonly extendedOids: readonly string[];
}

const byBit = (one: KeyUsageBit, other: KeyUsageBit): number => keyUsageBits[one] - keyUsageBits[other];

/** Converts the usages of a request. Throws for unknown names, listing all of them. */
export const certificateUsages = (usages: readonly string[]): CertificateUsages => {
  const unknown = usages.filter(usage => !knownUsages.has(usage));
  if (unknown.length > 0) throw new PkiError(`unrecognized usage values: [${unknown.map(usage => JSON.stringify(usage)).join(' ')}]`);
  const bits = new Set(usages.flatMap(usage => bitOf[usage] ?? []));
  const requested = new Set(usages.flatMap(usage => extendedByName.get(usage) ?? []));
  return {bits: [...bits].sort(byBit), extendedOids: extended.flatMap(({oid}) => (requested.has(oid) ? [oid] : []))};
};
