import {kinds, apiVersionOf, type ObjectOf} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import type {Happening} from './happenings.js';
import {isRenewed, type NodeCertificate} from './renewals.js';
import type {Source} from './source.js';

type Secret = ObjectOf<typeof kinds.secrets>;
type Request = ObjectOf<typeof kinds.certificateSigningRequests>;

/** Returns when a certificate in base64 ends; undefined for what is none. */
const endOf = (text: string | undefined): number | undefined => {
  if (!text) return undefined;
  try {
    return parseCertificateBundle(Buffer.from(text, 'base64'))[0]?.notAfter;
  } catch {
    return undefined; // Whoever uses it finds out; this is about time.
  }
};

/**
 * Returns which certificates of TLS secrets and of issued requests end until a time, or have ended; not those that
 * nodes renew.
 */
export const expiries = ({objects, naming, at}: Source, certificates: readonly NodeCertificate[], until: number): Happening[] => {
  const renewed = isRenewed(certificates);
  return [...objects.values()].flatMap(object => {
    const isOf = (kind: typeof kinds.secrets | typeof kinds.certificateSigningRequests) =>
      object.kind === kind.kind && object.apiVersion === apiVersionOf(naming, kind as never);
    const text = isOf(kinds.secrets)
      ? (object as Secret).data?.['tls.crt']
      : isOf(kinds.certificateSigningRequests) && !renewed(object as Request)
        ? (object as Request).status?.certificate
        : undefined;
    const end = endOf(text);
    if (end === undefined || end > until) return [];
    const {metadata} = object as KubeObject;
    const named = `${object.kind} ${metadata?.namespace ? `${metadata.namespace}/` : ''}${metadata?.name}`;
    const because = 'nothing in the forecast renews it';
    return [
      {
        at: Math.max(at, end),
        object: named,
        what: end < at ? 'has a certificate that has expired' : 'has a certificate that expires',
        because,
      },
    ];
  });
};
