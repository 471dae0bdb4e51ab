// Reads a certification request (RFC 2986) as far as the page shows it: subject, key and names.

interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
}

/** Reads the elements of DER one after the other. Throws for what is none. */
const elements = (bytes: Uint8Array): Element[] => {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes[at++]!;
    let length = bytes[at++]!;
    if (length & 0x80) {
      const digits = length & 0x7f;
      if (digits === 0 || digits > 3) throw new Error('a length of DER is wrong');
      length = 0;
      for (let digit = 0; digit < digits; digit++) length = length * 256 + bytes[at++]!;
    }
    if (Number.isNaN(length) || at + length > bytes.length) throw new Error('DER ends too early');
    found.push({tag, content: bytes.subarray(at, at + length)});
    at += length;
  }
  return found;
};

const oidOf = (bytes: Uint8Array): string => {
  const parts = [Math.floor(bytes[0]! / 40), bytes[0]! % 40];
  let value = 0;
  for (const byte of bytes.subarray(1)) {
    value = value * 128 + (byte & 0x7f);
    if (!(byte & 0x80)) {
      parts.push(value);
      value = 0;
    }
  }
  return parts.join('.');
};

const attributes: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
};
const keys: Readonly<Record<string, string>> = {'1.2.840.113549.1.1.1': 'RSA', '1.2.840.10045.2.1': 'ECDSA', '1.3.101.112': 'Ed25519'};
const extensionRequest = '1.2.840.113549.1.9.14';
const subjectAltName = '2.5.29.17';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

const nameOf = (sequence: Uint8Array): string[] =>
  elements(sequence).flatMap(({content: set}) =>
    elements(set).map(({content}) => {
      const [type, value] = elements(content);
      const oid = oidOf(type!.content);
      return `${attributes[oid] ?? oid}=${text(value!.content)}`;
    }),
  );

const addressOf = (bytes: Uint8Array): string =>
  bytes.length === 4
    ? bytes.join('.')
    : Array.from({length: 8}, (_, at) => ((bytes[2 * at]! << 8) | bytes[2 * at + 1]!).toString(16)).join(':');

const alternativeNames = (octets: Uint8Array): string[] =>
  elements(elements(octets)[0]!.content).map(({tag, content}) => {
    switch (tag & 0x1f) {
      case 1:
        return `email ${text(content)}`;
      case 2:
        return `DNS ${text(content)}`;
      case 6:
        return `URI ${text(content)}`;
      case 7:
        return `IP ${addressOf(content)}`;
      default:
        return `name of type ${tag & 0x1f}`;
    }
  });

const namesIn = (attribute: Uint8Array): string[] => {
  const [type, values] = elements(attribute);
  if (oidOf(type!.content) !== extensionRequest) return [];
  return elements(values!.content).flatMap(({content}) =>
    elements(content).flatMap(extension => {
      const parts = elements(extension.content);
      return oidOf(parts[0]!.content) === subjectAltName ? alternativeNames(parts.at(-1)!.content) : [];
    }),
  );
};

export interface CertificationRequest {
  readonly subject: readonly string[];
  readonly key: string;
  readonly names: readonly string[];
}

/** Reads a request in PEM, itself in base64 as objects have it. Throws if it is none. */
export const readRequest = (base64: string): CertificationRequest => {
  const pem = atob(base64);
  const begin = pem.indexOf('-----\n');
  const body = pem.slice(begin + 6, pem.indexOf('-----END')).replace(/\s+/g, '');
  const der = Uint8Array.from(atob(body), character => character.charCodeAt(0));
  const [info] = elements(elements(der)[0]!.content);
  const [, subject, publicKey, own] = elements(info!.content);
  const [algorithm, bits] = elements(publicKey!.content);
  const kind = keys[oidOf(elements(algorithm!.content)[0]!.content)] ?? 'unknown';
  const size =
    kind === 'RSA'
      ? ` ${8 * (elements(elements(bits!.content.subarray(1))[0]!.content)[0]!.content.length - 1)} bits`
      : kind === 'ECDSA'
        ? ` ${bits!.content.length > 100 ? 'P-384 or longer' : 'P-256'}`
        : '';
  return {
    subject: nameOf(subject!.content),
    key: `${kind}${size}`,
    names: own ? elements(own.content).flatMap(({content}) => namesIn(content)) : [],
  };
};
