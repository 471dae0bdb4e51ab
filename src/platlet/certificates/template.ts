// The content of the certificates that an agent requests. Pure.

import {isIP} from 'node:net';
import {wellKnown} from '#src/api/user.js';
import type {Certificate} from '#src/pki/certificate.js';
import {hostAlternativeNames} from '#src/pki/issuing.js';
import type {Subject} from '#src/pki/names.js';

/** The content of a certificate. */
export interface CertificateTemplate {
  readonly subject: Required<Pick<Subject, 'commonName' | 'organizations'>>;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** Returns the template of the client certificate of a node. */
export const clientTemplate = (nodeName: string): CertificateTemplate => ({
  subject: {commonName: `${wellKnown.nodeUserPrefix}${nodeName}`, organizations: [wellKnown.nodes]},
  dnsNames: [],
  ipAddresses: [],
});

const nameTypes = new Set(['Hostname', 'InternalDNS', 'ExternalDNS']);
const ipTypes = new Set(['Hostname', 'InternalIP', 'ExternalIP']);

/**
 * Returns the template of the serving certificate; undefined while the node has no IP address, unless DNS names are
 * enough.
 */
export const servingTemplate = (
  nodeName: string,
  addresses: readonly {readonly type: string; readonly address: string}[],
  allowsNamesAlone: boolean,
): CertificateTemplate | undefined => {
  const wanted = addresses.filter(({type, address}) => (isIP(address) ? ipTypes : nameTypes).has(type) && address !== '');
  const {dnsNames, ipAddresses} = hostAlternativeNames(wanted.map(({address}) => address));
  if (ipAddresses.length === 0 && !(allowsNamesAlone && dnsNames.length > 0)) return undefined;
  return {subject: clientTemplate(nodeName).subject, dnsNames: dnsNames.toSorted(), ipAddresses: ipAddresses.toSorted()};
};

/** Returns what a certificate lacks of a template; undefined if nothing. Extra names are allowed. */
export const templateMismatch = ({subject, dnsNames, ipAddresses}: Certificate, wanted: CertificateTemplate): string | undefined => {
  if (subject.commonName !== wanted.subject.commonName)
    return `Current certificate CN (${subject.commonName}) does not match requested CN (${wanted.subject.commonName})`;
  const lists = [
    ['DNS names', wanted.dnsNames, dnsNames],
    ['IP addresses', wanted.ipAddresses, ipAddresses],
    ['orgs', wanted.subject.organizations, subject.organizations],
  ] as const;
  for (const [what, all, present] of lists) {
    const missing = all.filter(each => !present.includes(each));
    if (missing.length > 0) return `Current certificate is missing requested ${what} [${missing.join(' ')}]`;
  }
  return undefined;
};
