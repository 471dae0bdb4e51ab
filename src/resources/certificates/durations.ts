import type {CertificateSigningRequest} from '#src/api/types.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import type {Count, HookContext} from '#src/resources/definition.js';

const minutes = 60_000;
const prefix = 'apiserver_certificates_registry_csr';

/** Returns the lifetime of the issued certificate in ms; undefined if it cannot be parsed. */
const issuedDuration = (certificate: string): number | undefined => {
  try {
    const [issued] = parseCertificateBundle(Buffer.from(certificate, 'base64'));
    return issued && issued.notAfter - issued.notBefore;
  } catch {
    return undefined;
  }
};

/**
 * Counts requests with a duration when their certificate is issued, and those whose certificate has about that
 * duration.
 */
export function* countDurations(
  csr: Readonly<CertificateSigningRequest>,
  old: Readonly<CertificateSigningRequest> | undefined,
  {naming}: HookContext,
): Iterable<Count> {
  const {signerName, expirationSeconds} = csr.spec;
  const certificate = csr.status?.certificate;
  if (!certificate || old?.status?.certificate || !expirationSeconds) return;

  const labels = {signerName: signerName.startsWith(naming.key('')) ? signerName : 'other'};
  yield {
    name: `${prefix}_requested_duration_total`,
    help: 'Total number of issued CSRs with a requested duration, sliced by signer',
    labels,
  };

  const expected = expirationSeconds * 1000;
  const issued = issuedDuration(certificate);
  if (issued !== undefined && Math.abs(expected - issued) < 5 * minutes + expected / 20) {
    yield {
      name: `${prefix}_honored_duration_total`,
      help: 'Total number of issued CSRs with a requested duration that was honored, sliced by signer',
      labels,
    };
  }
}
