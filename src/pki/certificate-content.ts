import {parseCertificatesBer, type Certificate} from './certificate.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {readPublicKey} from '#src/pki/keys/keys.js';
import {pemBlocks} from '#src/pki/encoding/pem.js';

/**
 * Parses the certificates that a signer issues: PEM blocks labelled CERTIFICATE without headers, each with at least one certificate in
 * BER; text between the blocks is allowed. Throws a `PkiError` for anything else. The first certificate is the issued one.
 */
export const parseIssuedCertificates = (content: Buffer | string): Certificate[] => {
  const certificates: Certificate[] = [];
  for (const {label, headers, bytes} of pemBlocks(content)) {
    if (label !== 'CERTIFICATE') throw new PkiError(`only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`);
    if (Object.keys(headers).length > 0) throw new PkiError('no PEM block headers are permitted');
    const found = parseCertificatesBer(bytes);
    for (const {publicKeyInfo} of found) readPublicKey(publicKeyInfo);
    if (found.length === 0) throw new PkiError('found CERTIFICATE PEM block containing 0 certificates');
    for (const certificate of found) certificates.push(certificate);
  }
  if (certificates.length === 0) throw new PkiError('must contain at least one CERTIFICATE PEM block');
  return certificates;
};
