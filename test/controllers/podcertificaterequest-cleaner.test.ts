import test from 'ava';
import {cleaner} from '#controllers/podcertificaterequest-cleaner/reconcile.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import {samples} from '#test/apiserver/samples.js';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import {attempt, contextOver} from './context.js';
import {aPlane} from './plane.js';

const naming = namingOf('plat');
const minute = 60_000;
const namespace = 'default';
const aRequest = (name: string, uid?: string) =>
  ({...samples(naming)['PodCertificateRequest'], metadata: {name, namespace, ...(uid ? {uid} : {})}}) as PodCertificateRequest;

const aCleaningPlane = async () => {
  const plane = await aPlane({
    controllers: ['podcertificaterequest-cleaner-controller'],
    apiserverArgs: ['--feature-gates=PodCertificateRequest=true', '--runtime-config=certificates.plat.io/v1beta1=true'],
    controllerManagerArgs: ['--feature-gates=PodCertificateRequest=true', '--use-service-account-credentials'],
  });
  const requests = plane.client().resource(kinds.podCertificateRequests);
  const names = async () => (await requests.list({namespace})).items.map(({metadata}) => metadata!.name!).sort();
  return {plane, clock: plane.clock, requests, names, [Symbol.asyncDispose]: () => plane.stop()};
};

test('a request is deleted at the first pass after 15 minutes, whatever its state', async t => {
  await using at = await aCleaningPlane();
  const {clock, requests, names} = at;
  await requests.create(aRequest('pending'));
  await requests.create(aRequest('denied'));
  const time = wireTime(clock.now());
  const denied = {type: 'Denied', status: 'True', reason: 'Test', message: 'no', lastTransitionTime: time};
  await requests.patch('denied', 'merge', {status: {conditions: [denied]}}, {namespace, subresource: 'status'});
  await clock.advance(2 * minute);
  await requests.create(aRequest('young'));

  await clock.advance(13 * minute - 1);
  t.deepEqual(await names(), ['denied', 'pending', 'young']);
  await clock.advance(1);
  t.deepEqual(await names(), ['young']);
  await clock.advance(5 * minute);
  t.deepEqual(await names(), []);
});

test('a request that was replaced under the same name stays, and does not keep the pass from the others', async t => {
  await using at = await aCleaningPlane();
  const {plane, clock, requests, names} = at;
  for (const name of ['replaced', 'old']) await requests.create(aRequest(name));
  const {items} = await requests.list({namespace});
  await requests.delete('replaced', {namespace});
  await requests.create(aRequest('replaced'));
  const gone = {...items[0]!, metadata: {...items[0]!.metadata, name: 'gone'}};
  const aged = [gone, ...items].map(item => ({
    ...item,
    kind: 'PodCertificateRequest',
    metadata: {...item.metadata, creationTimestamp: wireTime(clock.now() - 15 * minute)},
  }));

  await cleaner(contextOver(plane, aged, {}))({namespace: '', name: 'all'}, attempt);
  t.deepEqual(await names(), ['replaced']);
});

test('without the feature gate the plane starts, without it', async t => {
  await using plane = await aPlane({controllers: ['podcertificaterequest-cleaner-controller']});

  t.deepEqual((await plane.manager.health()).body, 'ok');
});
