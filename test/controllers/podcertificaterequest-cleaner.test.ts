// The scenarios of upstream's pkg/controller/certificates/cleaner/pcrcleaner_test.go: TestPCRCleaner.

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

const terminal = (type: string) => [{type, status: 'True', reason: 'Test', message: 'no', lastTransitionTime: '2026-01-01T00:00:00Z'}];
const ages: readonly (readonly [what: string, conditions: readonly object[], ageMs: number, isDeleted: boolean])[] = [
  ['a pending request of almost 15 minutes', [], 15 * minute - 1000, false],
  ['a pending request of more than 15 minutes', [], 15 * minute + 1000, true],
  ['a denied request of almost 15 minutes', terminal('Denied'), 15 * minute - 1000, false],
  ['a denied request of more than 15 minutes', terminal('Denied'), 15 * minute + 1000, true],
  ['a failed request of almost 15 minutes', terminal('Failed'), 15 * minute - 1000, false],
  ['a failed request of more than 15 minutes', terminal('Failed'), 15 * minute + 1000, true],
];

test('requests are deleted by their age alone', async t => {
  await using at = await aCleaningPlane();
  const {plane, clock, requests, names} = at;
  for (const i of ages.keys()) await requests.create(aRequest(`request${i}`));
  const {items} = await requests.list({namespace});
  const aged = ages.map(([, conditions, ageMs], i) => ({
    ...items[i]!,
    kind: 'PodCertificateRequest',
    metadata: {...items[i]!.metadata, creationTimestamp: wireTime(clock.now() - ageMs)},
    status: {conditions},
  }));
  await cleaner(contextOver(plane, aged, {}))({namespace: '', name: 'all'}, attempt);

  const left = await names();
  for (const [i, [what, , , isDeleted]] of ages.entries()) t.is(left.includes(`request${i}`), !isDeleted, what);
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
