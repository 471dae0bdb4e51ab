/** The types of records that are treated by name somewhere (RFC 1035 and its successors). */
export const recordTypes = {
  A: 1,
  NS: 2,
  MD: 3,
  MF: 4,
  CNAME: 5,
  SOA: 6,
  MB: 7,
  MG: 8,
  MR: 9,
  PTR: 12,
  HINFO: 13,
  MINFO: 14,
  MX: 15,
  TXT: 16,
  RP: 17,
  AFSDB: 18,
  RT: 21,
  SIG: 24,
  PX: 26,
  AAAA: 28,
  NXT: 30,
  SRV: 33,
  NAPTR: 35,
  KX: 36,
  DNAME: 39,
  OPT: 41,
  DS: 43,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  NSEC3: 50,
  SVCB: 64,
  HTTPS: 65,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

/** The class of everything that is served. */
export const internet = 1;

/** The codes of responses. `BADVERS` has bits outside of the header. */
export const rcodes = {NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16} as const;

const rcodeNames = new Map<number, string>(Object.entries(rcodes).map(([name, code]) => [code, name]));

/** The name of a response code; its number where it has none here. */
export const rcodeName = (code: number): string => rcodeNames.get(code) ?? String(code);

/** The bits of the second 16 bits of a header. */
export const flags = {
  response: 0x8000,
  authoritative: 0x0400,
  truncated: 0x0200,
  recursionDesired: 0x0100,
  recursionAvailable: 0x0080,
  authenticData: 0x0020,
  checkingDisabled: 0x0010,
} as const;

/** The operation of a message, from its flags. */
export const opcodeOf = (bits: number): number => (bits >> 11) & 0xf;

/** The largest message: its length has 16 bits in TCP. */
export const largestMessage = 65_535;

/** What every resolver takes by UDP. */
export const smallestPayload = 512;
