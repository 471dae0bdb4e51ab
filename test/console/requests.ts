import {generateKeyPairSync} from 'node:crypto';
import {kinds} from '#src/api/kinds/index.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import type {Plane} from '#src/plane/plane.js';

/** Creates a certificate signing request for a signer that is no controller of the plane. */
export const aRequest = async (plane: Plane, name: string): Promise<void> => {
  const {privateKey} = generateKeyPairSync('ec', {namedCurve: 'P-256'});
  const pem = createSigningRequest(privateKey, {
    subject: {commonName: 'somebody', organizations: ['team']},
    dnsNames: ['web.example.com'],
    ipAddresses: ['10.0.0.1'],
  });
  await plane.client().create(kinds.certificateSigningRequests, {
    metadata: {name},
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'example.com/signer',
      usages: ['client auth', 'digital signature'],
      expirationSeconds: 3600,
    },
  });
};
