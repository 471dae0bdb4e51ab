import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {lazily} from '#src/base/lazily.js';
import {createSigningRequest, type RequestTemplate} from '#src/pki/signing-request.js';
import {generatePrivateKey, type KeySpec} from '#src/pki/keys/keys.js';
import {parseCertificateBundle, type Certificate} from '#src/pki/certificate.js';
import type {Plane} from '#src/plane/plane.js';

export const nodeUser: UserInfo = {name: 'system:node:one', groups: ['system:nodes', 'system:authenticated']};
export const nodeSubject = {organizations: ['system:nodes'], commonName: 'system:node:one'};
export const nodeClientUsages = ['digital signature', 'client auth'];
export const nodeServingUsages = ['digital signature', 'server auth'];

export interface RequestParts extends Partial<RequestTemplate> {
  readonly name?: string;
  readonly signer: string;
  readonly usages?: readonly string[];
  readonly expirationSeconds?: number;
  readonly key?: KeySpec;
}

/** One for all requests of keys of this kind: making it takes longer than all else that a test of a request does. */
const rsaKey = lazily(() => generatePrivateKey({kind: 'rsa'}));

/** A request, by default with a node's subject, as it is sent; for a new key, but for RSA. */
export const aRequest = async ({
  name = 'req',
  signer,
  usages,
  expirationSeconds,
  key,
  ...template
}: RequestParts): Promise<CertificateSigningRequest> => {
  const pem = createSigningRequest(await (key?.kind === 'rsa' ? rsaKey() : generatePrivateKey(key)), {subject: nodeSubject, ...template});
  return {
    metadata: {name},
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: signer,
      ...(usages ? {usages: [...usages]} : {}),
      ...(expirationSeconds === undefined ? {} : {expirationSeconds}),
    },
  };
};

/** Requests in a running plane. */
export const requestsOf = (plane: Plane, user?: UserInfo) => {
  const resource = plane.client(user).resource(kinds.certificateSigningRequests);
  const conditionsOf = async (name: string) =>
    ((await resource.get(name)).status?.conditions ?? []).map(({type, status, reason, message}) => ({type, status, reason, message}));
  return {
    ...resource,
    resource,
    conditionsOf,
    create: async (parts: RequestParts) => resource.create(await aRequest(parts)),
    get: (name = 'req') => resource.get(name),
    names: async () => (await resource.list()).items.map(({metadata}) => metadata?.name).sort(),
    async setApproval(type: 'Approved' | 'Denied', name = 'req') {
      const csr = await resource.get(name);
      const conditions = [...(csr.status?.conditions ?? []), {type, status: 'True', reason: 'Test'}];
      return resource.update({...csr, status: {...csr.status, conditions}}, {subresource: 'approval'});
    },
    /** The certificates in the status. */
    async issued(name = 'req'): Promise<readonly Certificate[]> {
      const {status} = await resource.get(name);
      return status?.certificate ? parseCertificateBundle(Buffer.from(status.certificate, 'base64')) : [];
    },
  };
};
