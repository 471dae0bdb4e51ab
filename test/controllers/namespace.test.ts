import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import {isNotFound} from '#src/api/status.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Plane} from '#src/plane/plane.js';
import {aPlane} from './plane.js';

const namespace = 'doomed';
const finalizer = 'example.com/hold';

const doomed = async (finalizers: readonly string[] = []): Promise<{clock: VirtualClock; plane: Plane}> => {
  const plane = await aPlane();
  const {clock} = plane;
  const client = plane.client();
  await client.resource(kinds.namespaces).create({metadata: {name: namespace}, spec: {finalizers: [...finalizers]}});
  await client.resource(kinds.secrets).create({metadata: {namespace, name: 'one'}});
  await clock.drain();
  return {clock, plane};
};

const namespaceIn = async (plane: Plane) =>
  plane
    .client()
    .resource(kinds.namespaces)
    .get(namespace)
    .catch((error: unknown) => (isNotFound(error) ? undefined : Promise.reject(error as Error)));

const contentOf = async (plane: Plane): Promise<string[]> => {
  const inNamespace = {namespace};
  const lists = [kinds.configMaps, kinds.secrets, kinds.serviceAccounts].map(async kind => (await plane.client().resource(kind).list(inNamespace)).items);
  return (await Promise.all(lists)).flat().map(({metadata}) => metadata?.name ?? '');
};

const conditionsOf = async (plane: Plane) => ((await namespaceIn(plane))?.status?.conditions ?? []).map(({type, status, reason, message}) => [type, status, reason, message]);

test('a deleted namespace is emptied and let go after five seconds of grace', async t => {
  const {clock, plane} = await doomed();
  await using _ = plane;
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(4_999);
  t.is((await namespaceIn(plane))?.status?.phase, 'Terminating');
  t.true((await contentOf(plane)).includes('one'));

  await clock.advance(1);

  t.is(await namespaceIn(plane), undefined);
  t.deepEqual(await contentOf(plane), []);
});

test('other namespaces keep what they hold', async t => {
  const {clock, plane} = await doomed();
  await using _ = plane;
  await plane.client().resource(kinds.secrets).create({metadata: {namespace: 'default', name: 'one'}});
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(60_000);

  t.is((await plane.client().resource(kinds.secrets).get('one', {namespace: 'default'})).metadata?.name, 'one');
});

test('a namespace waits for finalizers, tells of them, and looks again after half of the estimate and a second', async t => {
  const {clock, plane} = await doomed();
  await using _ = plane;
  const secrets = plane.client().resource(kinds.secrets);
  await secrets.create({metadata: {namespace, name: 'held', finalizers: [finalizer]}});
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(5_000);

  t.deepEqual(await conditionsOf(plane), [
    ['NamespaceDeletionDiscoveryFailure', 'False', 'ResourcesDiscovered', 'All resources successfully discovered'],
    ['NamespaceDeletionGroupVersionParsingFailure', 'False', 'ParsedGroupVersions', 'All legacy plat types successfully parsed'],
    ['NamespaceDeletionContentFailure', 'False', 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
    ['NamespaceContentRemaining', 'True', 'SomeResourcesRemain', 'Some resources are remaining: secrets. has 1 resource instances'],
    ['NamespaceFinalizersRemaining', 'True', 'SomeFinalizersRemain', `Some finalizers are remaining: ${finalizer} in 1 resource instances`],
  ]);

  const held = await secrets.get('held', {namespace});
  await secrets.update({...held, metadata: {...held.metadata, finalizers: []}});
  await clock.advance(4_999); // The status that was written asks for a look of its own, five seconds later.
  t.not(await namespaceIn(plane), undefined);
  await clock.advance(1);

  t.is(await namespaceIn(plane), undefined);
});

test('a finalizer of another party on the namespace stays and keeps it', async t => {
  const {clock, plane} = await doomed([finalizer]);
  await using _ = plane;
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(600_000);

  const left = await namespaceIn(plane);
  t.deepEqual(left?.spec?.finalizers, [finalizer]);
  t.deepEqual(await contentOf(plane), []);

  await plane.client().resource(kinds.namespaces).update({...left!, spec: {finalizers: []}}, {subresource: 'finalize'});
  await clock.drain();
  t.is(await namespaceIn(plane), undefined);
});

test('a namespace that is made again at once keeps its new content', async t => {
  const {clock, plane} = await doomed();
  await using _ = plane;
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(5_000);
  await plane.client().resource(kinds.namespaces).create({metadata: {name: namespace}});
  await plane.client().resource(kinds.secrets).create({metadata: {namespace, name: 'new'}});
  await clock.advance(600_000);

  t.true((await contentOf(plane)).includes('new'));
});
