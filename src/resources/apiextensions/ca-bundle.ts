import {messageOf} from '#src/base/message.js';
import {parseCertificate} from '#src/pki/certificate.js';
import {pemBlocks} from '#src/pki/encoding/pem.js';

const cannotLoad = 'unable to load root certificates: ';

/** Returns why a base64 bundle has no valid certificate; undefined if it has one or is empty. */
export const caBundleProblem = (bundle: string | undefined): string | undefined => {
  if (!bundle) return undefined;
  let why: string | undefined;
  let hasBlock = false;
  for (const {label, headers, bytes} of pemBlocks(Buffer.from(bundle, 'base64'))) {
    hasBlock = true;
    if (label !== 'CERTIFICATE' || Object.keys(headers).length > 0) continue;
    try {
      parseCertificate(bytes);
      return undefined;
    } catch (error) {
      why ??= `failed to parse certificate: ${messageOf(error)}`;
    }
  }
  return `${cannotLoad}${why ?? (hasBlock ? 'no valid certificate authority data seen' : 'unable to parse bytes as PEM block')}`;
};
