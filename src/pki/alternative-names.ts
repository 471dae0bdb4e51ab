import {runSteps, type Steps} from '#src/base/steps.js';
import {DerReader, onlyElement, tags} from '#src/pki/encoding/der.js';
import {elementsPerStep, sequenceOfPrimitives, type Primitive} from '#src/pki/encoding/der-builder.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {ipBytes, ipText} from './ip.js';

/** Subject alternative names of the supported kinds (RFC 5280 §4.2.1.6). IP addresses are in canonical text form. */
export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
}

export const noAlternativeNames: AlternativeNames = {dnsNames: [], emailAddresses: [], ipAddresses: [], uris: []};

const kind = {email: tags.context(1), dns: tags.context(2), uri: tags.context(6), ip: tags.context(7)} as const;

// eslint-disable-next-line no-control-regex
const beyondIa5 = /[^\0-\x7f]/;

const ia5 = (content: Buffer, what: string): string => {
  const text = content.toString('latin1');
  if (beyondIa5.test(text)) throw new PkiError(`x509: SAN ${what} is malformed`);
  return text;
};

const hostLabel = /^[A-Za-z0-9_-]+$/;

const readUri = (content: Buffer): string => {
  const text = ia5(content, 'uniformResourceIdentifier');
  const authority = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#]*)/.exec(text)?.[1] ?? '';
  const host = authority.replace(/^.*@/, '').replace(/:\d*$/, '');
  const isValid = host === '' || host.startsWith('[') || host.split('.').every(label => hostLabel.test(label));
  // eslint-disable-next-line no-control-regex
  if (/[\0-\x20\x7f]/.test(text) || /%(?![0-9A-Fa-f]{2})/.test(text)) throw new PkiError(`x509: cannot parse URI ${JSON.stringify(text)}`);
  if (!isValid) throw new PkiError(`x509: cannot parse URI ${JSON.stringify(text)}: invalid domain`);
  return text;
};

const readIp = (content: Buffer): string => {
  if (content.length !== 4 && content.length !== 16) throw new PkiError(`x509: cannot parse IP address of length ${content.length}`);
  return ipText(content);
};

/** Parses the value of the extension. Names of other kinds are left out. */
export const readAlternativeNames = (value: Buffer): AlternativeNames => runSteps(readAlternativeNamesInSteps(value));

/** The same in steps. */
export const readAlternativeNamesInSteps = function* (value: Buffer): Steps<AlternativeNames> {
  const names = {dnsNames: [] as string[], emailAddresses: [] as string[], ipAddresses: [] as string[], uris: [] as string[]};
  let count = 0;
  for (const reader = new DerReader(onlyElement(value, tags.sequence)); reader.more;) {
    const {tag, content} = reader.next();
    if (++count % elementsPerStep === 0) yield;
    if (tag === kind.email) names.emailAddresses.push(ia5(content, 'rfc822Name'));
    else if (tag === kind.dns) names.dnsNames.push(ia5(content, 'dNSName'));
    else if (tag === kind.uri) names.uris.push(readUri(content));
    else if (tag === kind.ip) names.ipAddresses.push(readIp(content));
  }
  return names;
};

const ia5Element = (tag: number, text: string): Primitive => {
  if (beyondIa5.test(text)) throw new PkiError(`x509: ${JSON.stringify(text)} cannot be encoded as an IA5String`);
  return [tag, text];
};

export const hasAlternativeNames = (names: AlternativeNames): boolean =>
  names.dnsNames.length + names.emailAddresses.length + names.ipAddresses.length + names.uris.length > 0;

/** Encodes the value of the extension: DNS names, then email addresses, IP addresses and URIs. */
export const buildAlternativeNames = (names: AlternativeNames): Buffer => runSteps(buildAlternativeNamesInSteps(names));

/** The same in steps. */
export const buildAlternativeNamesInSteps = function* (names: AlternativeNames): Steps<Buffer> {
  const elements: Primitive[] = [];
  const add = function* (texts: readonly string[], element: (text: string) => Primitive): Steps<void> {
    for (const text of texts) if (elements.push(element(text)) % elementsPerStep === 0) yield;
  };
  yield* add(names.dnsNames, name => ia5Element(kind.dns, name));
  yield* add(names.emailAddresses, name => ia5Element(kind.email, name));
  yield* add(names.ipAddresses, ip => [kind.ip, ipBytes(ip)]);
  yield* add(names.uris, uri => ia5Element(kind.uri, uri));
  return yield* sequenceOfPrimitives(elements);
};
