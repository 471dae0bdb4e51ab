import {naming} from '#src/api/naming.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {each} from './each.js';
import {ApiClient} from './api-client.js';
import type {Server} from './programs.js';

const group = naming('kubernetes').group('certificates');
const path = `/apis/${group}/v1/certificatesigningrequests`;

interface SigningRequest {
  readonly metadata: {readonly name: string};
  readonly status?: {readonly certificate?: string};
}

const limitMs = 60_000;

/**
 * Creates and approves signing requests of users, 32 at once, and returns how many certificates a second the
 * controllers issued, up to the last.
 */
export const issuedPerSecond = async (server: Server, count: number, prefix: string): Promise<number> => {
  using client = new ApiClient(server);
  const key = await generatePrivateKey();
  const requests = Array.from({length: 20}, (_, index) =>
    Buffer.from(createSigningRequest(key, {subject: {commonName: `user-${index}`, organizations: ['bench']}})).toString('base64'),
  );
  const startedAt = performance.now();
  await each(
    count,
    async index => {
      const created = await client.json<SigningRequest>('POST', path, {
        apiVersion: `${group}/v1`,
        kind: 'CertificateSigningRequest',
        metadata: {name: `${prefix}-${index}`},
        spec: {request: requests[index % 20], signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth']},
      });
      const conditions = [{type: 'Approved', status: 'True', reason: 'Bench', message: 'approved'}];
      await client.call('PUT', `${path}/${created.metadata.name}/approval`, {body: {...created, status: {conditions}}});
    },
    32,
  );
  for (;;) {
    const {items} = await client.json<{items: SigningRequest[]}>('GET', path);
    const issued = items.filter(({metadata, status}) => metadata.name.startsWith(`${prefix}-`) && status?.certificate).length;
    const ms = performance.now() - startedAt;
    if (issued === count) return (count * 1000) / ms;
    if (ms > limitMs) throw new Error(`${issued} of ${count} certificates were issued within ${limitMs / 1000} s`);
    await new Promise(resolve => setTimeout(resolve, 100)); // Polling costs the server time too.
  }
};
