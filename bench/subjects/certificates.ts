import {setTimeout as wait} from 'node:timers/promises';
import {naming} from '#src/api/naming.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {type Row, row} from '#bench/run/row.js';
import {caller, startPlane} from '#bench/load/programs.js';

const count = 2000;
const words = naming('kubernetes');
const path = `/apis/${words.group('certificates')}/v1/certificatesigningrequests`;

/**
 * Node agents' certificate requests, created by 64 clients and approved and signed by the controllers, from the first
 * creation to the last certificate.
 */
export const certificateRows = async (): Promise<Row[]> => {
  const plane = await startPlane();
  const call = caller(plane);
  const bodies = await Promise.all(
    Array.from({length: count}, async (_, index) => {
      const key = await generatePrivateKey();
      const request = createSigningRequest(key, {subject: {commonName: `system:node:n${index}`, organizations: ['system:nodes']}});
      return {
        apiVersion: `${words.group('certificates')}/v1`,
        kind: 'CertificateSigningRequest',
        metadata: {name: `bench-${index}`},
        spec: {
          request: Buffer.from(request).toString('base64'),
          signerName: words.signers.apiserverClientAgent,
          usages: ['digital signature', 'client auth'],
        },
      };
    }),
  );
  const startedAt = performance.now();
  const queue = bodies.values();
  await Promise.all(
    Array.from({length: 64}, async () => {
      for (const body of queue) await call('POST', path, body);
    }),
  );
  const createdAt = performance.now();
  for (;;) {
    const {items} = JSON.parse((await call('GET', path)).text) as {items: {status?: {certificate?: string}}[]};
    if (items.filter(({status}) => status?.certificate).length === count) break;
    await wait(100); // Polling without a pause would distort the measurement.
  }
  const endedAt = performance.now();
  await plane.stop();
  const rate = (count / (endedAt - startedAt)) * 1000;
  const created = Math.round((count / (createdAt - startedAt)) * 1000);
  return [
    row('CSR created, approved and issued', rate, '/s', {
      note: `ECDSA P-256, ${count} requests, controllers in process without client limits; creation alone ${created}/s`,
    }),
  ];
};
