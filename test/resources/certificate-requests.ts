import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest, CertificateSigningRequestCondition as Condition} from '#src/api/types.js';
import {certificatePem} from '#src/pki/certificate.js';
import {createAuthority} from '#src/pki/authority.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {startEnvironment} from './environment.js';

const key = await generatePrivateKey();
export const request = Buffer.from(createSigningRequest(key, {subject: {commonName: 'jane'}})).toString('base64');
export const base64 = (text: string): string => Buffer.from(text).toString('base64');
export const pem = certificatePem(createAuthority(key, {commonName: 'ca', now: Date.parse('2026-01-01T00:00:00Z')}).certificate);
export const certificate = base64(pem);

export const aRequest = (spec: Partial<CertificateSigningRequest['spec']> = {}, name = 'req'): CertificateSigningRequest => ({
  metadata: {name},
  spec: {request, signerName: 'example.com/signer', usages: ['client auth'], ...spec},
});

export const is = (type: string, more: Partial<Condition> = {}): Condition => ({type, status: 'True', ...more});
export const start = async () => {
  const env = await startEnvironment();
  const csrs = env.of(kinds.certificateSigningRequests);
  /** Writes a status through a subresource. */
  const write = async (subresource: 'approval' | 'status' | '', status: CertificateSigningRequest['status']) => {
    const current = await csrs.get('req');
    return csrs.update({...current, status: status ?? {}}, subresource ? {subresource} : {});
  };
  return {...env, csrs, write};
};
