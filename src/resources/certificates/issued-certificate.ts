import {parseCertificatesBer} from '#src/pki/certificate.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {pemBlocks} from '#src/pki/encoding/pem.js';

/**
 * Throws unless the text is one or more PEM blocks of certificates. Text around the blocks is ignored (RFC 7468 §5.2).
 */
export const checkIssuedCertificate = (pem: Buffer): void => {
  let found = false;
  for (const {label, headers, bytes} of pemBlocks(pem)) {
    if (label !== 'CERTIFICATE') throw new PkiError(`only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`);
    if (Object.keys(headers).length > 0) throw new PkiError('no PEM block headers are permitted');
    if (parseCertificatesBer(bytes).length === 0) throw new PkiError('found CERTIFICATE PEM block containing 0 certificates');
    found = true;
  }
  if (!found) throw new PkiError('must contain at least one CERTIFICATE PEM block');
};
