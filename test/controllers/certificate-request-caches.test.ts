// What the approving and the signing controller cache of requests, of which there may be any number.

import test from 'ava';
import {approvingReconciler} from '#controllers/certificatesigningrequest-approving/reconcile.js';
import approving from '#controllers/certificatesigningrequest-approving/controller.js';
import signing from '#controllers/certificatesigningrequest-signing/controller.js';
import type {Change} from '#informers/change.js';
import type {Selection} from '#informers/selection.js';
import {naming} from '#src/api/naming.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import type {MapContext, MappedWatch} from '#src/runtime/watches.js';
import {attempt, contextOver} from './context.js';
import {aPlane} from './plane.js';
import {aRequest, nodeClientUsages, requestsOf} from './requests.js';

const plat = naming('plat');
const signer = plat.signers.apiserverClientAgent;

const [watch] = approving.watches as readonly MappedWatch[];
const {shape} = watch!.source as Selection<CertificateSigningRequest>;

const cached = async (status: object, held: number, request?: string) => {
  const {spec} = await aRequest({signer, usages: nodeClientUsages});
  return shape!.of({metadata: {name: 'req'}, spec: {...spec, ...(request === undefined ? {} : {request})}, status}, held);
};
const approved = {conditions: [{type: 'Approved', status: 'True', message: 'a long message'}]};

for (const [title, status] of [
  ['with a certificate', {...approved, certificate: 'AAAA'}],
  ['that was denied', {conditions: [{type: 'Denied', status: 'True'}]}],
  ['that failed', {conditions: [{type: 'Failed', status: 'True'}]}],
] as const) {
  test(`of a request ${title} only metadata is cached`, async t => {
    t.deepEqual(Object.keys(JSON.parse(JSON.stringify(await cached(status, 0))) as object), ['metadata']);
  });
}

test('the first open requests are cached whole, unless they are large, and of others what decides whether they are handled', async t => {
  t.truthy((await cached({}, 0)).spec.request);
  t.truthy((await cached(approved, 4_999)).spec.request);
  for (const reduced of [await cached(approved, 5_000), await cached(approved, 0, 'x'.repeat(20_000))]) {
    t.deepEqual(reduced.spec as object, {signerName: signer});
    t.deepEqual(reduced.status as object, {conditions: [{type: 'Approved', status: 'True'}]});
  }
});

test('a request that is cached without its body is read, and approved if it is still undecided', async t => {
  await using plane = await aPlane({controllers: ['ttl-controller']});
  const requests = requestsOf(plane);
  await requests.create({signer, usages: nodeClientUsages, name: 'open'});
  await requests.create({signer, usages: nodeClientUsages, name: 'denied'});
  await requests.setApproval('Denied', 'denied');
  const reconcile = approvingReconciler(
    contextOver(
      plane,
      ['open', 'denied', 'gone'].map(name => ({metadata: {name}, spec: {signerName: signer}})),
      {},
    ),
  );
  for (const name of ['open', 'denied', 'gone']) await reconcile({namespace: '', name}, attempt);

  t.deepEqual(
    (await requests.conditionsOf('open')).map(({type}) => type),
    ['Approved'],
  );
  t.deepEqual(
    (await requests.conditionsOf('denied')).map(({type}) => type),
    ['Denied'],
  );
});

test('a request is queued only where it can be handled now', t => {
  const context = {naming: plat} as MapContext;
  const queued = (watches: unknown, spec: object | undefined, status: object = {}): readonly (string | undefined)[] => {
    const change = {type: 'added', object: {metadata: {name: 'r'}, spec, status}, initial: false} as unknown as Change;
    return (watches as readonly MappedWatch[]).filter(({map}) => [...map(change, context)].length > 0).map(({loop}) => loop);
  };

  t.is(queued(approving.watches, {signerName: signer}).length, 1);
  t.is(queued(approving.watches, {signerName: signer}, approved).length, 0);
  t.is(queued(approving.watches, {signerName: plat.signers.apiserverClient}).length, 0);
  t.is(queued(approving.watches, undefined).length, 0);
  t.deepEqual(queued(signing.watches, {signerName: signer}, approved), ['apiserverClientAgent']);
  t.deepEqual(queued(signing.watches, {signerName: signer}), []);
  t.deepEqual(queued(signing.watches, {signerName: 'example.com/other'}, approved), []);
});
