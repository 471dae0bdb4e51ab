import test from 'ava';
import {nextConditions, type ContentDeletion} from '#controllers/namespace/conditions.js';
import namespaceController from '#controllers/namespace/controller.js';
import {discover} from '#controllers/shared/discovery.js';
import type {Caller} from '#src/client/caller.js';
import {clientOver} from '#src/client/resource-client.js';
import {naming} from '#src/api/naming.js';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound, serviceUnavailable} from '#src/api/status.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Plane} from '#src/plane/plane.js';
import {startManager} from '#test/runtime/environment.js';
import {aPlane} from './plane.js';

const [namespace, finalizer] = ['doomed', 'example.com/hold'];
const withFinalizers = 'Some content in the namespace has finalizers remaining';

const doomed = async (
  finalizers: readonly string[] = [],
  apiserverArgs: readonly string[] = [],
): Promise<{clock: VirtualClock; plane: Plane}> => {
  const plane = await aPlane({apiserverArgs, controllers: ['namespace-controller', 'serviceaccount-controller']});
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
  const lists = [kinds.configMaps, kinds.secrets, kinds.serviceAccounts].map(
    async kind => (await plane.client().resource(kind).list(inNamespace)).items,
  );
  return (await Promise.all(lists)).flat().map(({metadata}) => metadata?.name ?? '');
};

const conditionsOf = async (plane: Plane) =>
  ((await namespaceIn(plane))?.status?.conditions ?? []).map(({type, status, reason, message}) => [type, status, reason, message]);

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

test('other namespaces keep their objects', async t => {
  const {clock, plane} = await doomed();
  await using _ = plane;
  await plane
    .client()
    .resource(kinds.secrets)
    .create({metadata: {namespace: 'default', name: 'one'}});
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(60_000);

  t.is((await plane.client().resource(kinds.secrets).get('one', {namespace: 'default'})).metadata?.name, 'one');
});

test('a terminating namespace waits for finalizers, has conditions for them, and is synced again after half of the estimate and a second', async t => {
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
    ['NamespaceFinalizersRemaining', 'True', 'SomeFinalizersRemain', `${withFinalizers}: ${finalizer} in 1 resource instances`],
  ]);

  const held = await secrets.get('held', {namespace});
  await secrets.update({...held, metadata: {...held.metadata, finalizers: []}});
  await clock.advance(4_999); // The status that was written requeues the namespace after five seconds.
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

  await plane
    .client()
    .resource(kinds.namespaces)
    .update({...left!, spec: {finalizers: []}}, {subresource: 'finalize'});
  await clock.drain();
  t.is(await namespaceIn(plane), undefined);
});

test('pods go first, and all else waits for them', async t => {
  const {clock, plane} = await doomed();
  await using _ = plane;
  const pods = plane.client().resource(kinds.pods);
  const spec = {nodeName: 'n', terminationGracePeriodSeconds: 40, containers: [{name: 'c', image: 'i'}]};
  await pods.create({metadata: {namespace, name: 'slow'}, spec});
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(5_000);

  t.truthy((await pods.get('slow', {namespace})).metadata?.deletionTimestamp);
  t.true((await contentOf(plane)).includes('one'));
  t.deepEqual((await conditionsOf(plane)).slice(2), [
    ['NamespaceDeletionContentFailure', 'False', 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
    ['NamespaceContentRemaining', 'True', 'SomeResourcesRemain', 'Some resources are remaining: pods. has 1 resource instances'],
    ['NamespaceFinalizersRemaining', 'False', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
  ]);

  await pods.delete('slow', {namespace, gracePeriodSeconds: 0});
  await clock.advance(5_000); // The status that was written requeues the namespace.
  t.is(await namespaceIn(plane), undefined);
});

test('pods that remain after their grace period are reported as a failure', async t => {
  const {clock, plane} = await doomed();
  await using _ = plane;
  const spec = {nodeName: 'n', terminationGracePeriodSeconds: 40, containers: [{name: 'c', image: 'i'}]};
  await plane
    .client()
    .resource(kinds.pods)
    .create({metadata: {namespace, name: 'stuck'}, spec});
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(60_000);

  t.deepEqual((await conditionsOf(plane))[2], [
    'NamespaceDeletionContentFailure',
    'True',
    'ContentDeletionFailed',
    `Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: ${namespace} for gvr: /v1, Resource=pods`,
  ]);
});

test('a namespace is looked at again when its pods are due to have ended, without an error', async t => {
  const {client, clock, start, lines, own} = startManager(t, [namespaceController], {
    options: {concurrentNamespaceSyncs: 1, namespaceSyncPeriod: 300_000},
  });
  const [namespaces, pods] = [client.resource(kinds.namespaces), client.resource(kinds.pods)];
  await namespaces.create({metadata: {name: namespace}});
  const spec = {nodeName: 'n', terminationGracePeriodSeconds: 4, containers: [{name: 'c', image: 'i'}]};
  await pods.create({metadata: {namespace, name: 'slow'}, spec});
  await start();
  await namespaces.delete(namespace);
  await clock.advance(5_000);
  const looks = () => own.calls.filter(call => call === 'deletecollection pods').length;
  t.is(looks(), 1);
  t.is((await namespaces.get(namespace)).status?.conditions?.find(({type}) => type === 'NamespaceDeletionContentFailure')?.status, 'False');

  // Half of the four seconds and one more.
  await clock.advance(2_999);
  t.is(looks(), 1);
  await clock.advance(1);
  t.is(looks(), 2);
  await pods.delete('slow', {namespace, gracePeriodSeconds: 0});
  await clock.advance(2_000);

  t.true(isNotFound(await t.throwsAsync(namespaces.get(namespace))));
  t.deepEqual(
    lines.filter(line => !line.startsWith('info')),
    [],
  );
});

test('pods that take longer than they may are looked at every few seconds, without an error', async t => {
  const {client, clock, start, lines, own} = startManager(t, [namespaceController], {
    options: {concurrentNamespaceSyncs: 1, namespaceSyncPeriod: 3_600_000},
  });
  const namespaces = client.resource(kinds.namespaces);
  await namespaces.create({metadata: {name: namespace}});
  const spec = {nodeName: 'n', terminationGracePeriodSeconds: 1, containers: [{name: 'c', image: 'i'}]};
  await client.resource(kinds.pods).create({metadata: {namespace, name: 'stuck'}, spec});
  await start();
  await namespaces.delete(namespace);
  await clock.advance(60_000);
  const before = own.calls.length;
  own.calls.length = 0;
  await clock.advance(80_000);

  t.true(before > 0);
  t.is(own.calls.filter(call => call === 'deletecollection pods').length, 10);
  t.is((await namespaces.get(namespace)).status?.conditions?.find(({type}) => type === 'NamespaceDeletionContentFailure')?.status, 'True');
  t.deepEqual(
    lines.filter(line => !line.startsWith('info')),
    [],
  );
});

test('objects created before all servers knew of the termination are deleted too', async t => {
  const {clock, plane} = await doomed([], ['--disable-admission-plugins=NamespaceLifecycle']);
  await using _ = plane;
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(4_000);
  await plane
    .client()
    .resource(kinds.secrets)
    .create({metadata: {namespace, name: 'late'}});
  await clock.advance(1_000);

  t.is(await namespaceIn(plane), undefined);
  t.deepEqual(await contentOf(plane), []);
});

test('a namespace stays while discovery fails', async t => {
  const {own, client, clock, start} = startManager(t, [namespaceController], {
    options: {concurrentNamespaceSyncs: 1, namespaceSyncPeriod: 300_000},
  });
  const namespaces = client.resource(kinds.namespaces);
  await namespaces.create({metadata: {name: namespace}});
  await start();
  own.always(call => (call === 'GET /apis' ? serviceUnavailable('away') : undefined));
  await namespaces.delete(namespace);
  await clock.advance(10_000);
  const [condition] = (await namespaces.get(namespace)).status?.conditions ?? [];
  t.like(condition, {type: 'NamespaceDeletionDiscoveryFailure', status: 'True', reason: 'DiscoveryFailed', message: 'away'});

  own.always(undefined);
  await clock.advance(60_000);

  t.true(isNotFound(await t.throwsAsync(namespaces.get(namespace))));
});

test('a namespace that is made again at once keeps its new content', async t => {
  const {clock, plane} = await doomed();
  await using _ = plane;
  await plane.client().resource(kinds.namespaces).delete(namespace);
  await clock.advance(5_000);
  await plane
    .client()
    .resource(kinds.namespaces)
    .create({metadata: {name: namespace}});
  await plane
    .client()
    .resource(kinds.secrets)
    .create({metadata: {namespace, name: 'new'}});
  await clock.advance(600_000);

  t.true((await contentOf(plane)).includes('new'));
});

const plat = naming('plat');

/** A server that answers these documents and knows nothing else. */
const answering = (documents: Readonly<Record<string, unknown>>): Caller => ({
  async call({path}) {
    const body = documents[path];
    return {status: body === undefined ? 503 : 200, header: () => undefined, body};
  },
  watch: () => Promise.reject(new Error('nothing to watch')),
});

const widgets = {name: 'widgets', kind: 'Widget', namespaced: true, verbs: ['list', 'delete']};

test('a server without aggregated discovery is read group by group, and each resource is found in its preferred version', async t => {
  const client = clientOver(
    answering({
      '/api': {kind: 'APIVersions', versions: ['v1']},
      '/api/v1': {
        kind: 'APIResourceList',
        resources: [
          {...widgets, name: 'pods', kind: 'Pod'},
          {...widgets, name: 'pods/status'},
        ],
      },
      '/apis': {
        kind: 'APIGroupList',
        groups: [
          {
            name: 'example.com',
            versions: [{groupVersion: 'example.com/v2'}, {groupVersion: 'example.com/v1'}],
            preferredVersion: {groupVersion: 'example.com/v1'},
          },
          {name: 'broken.com', versions: [{groupVersion: 'broken.com/v1'}]},
          {name: 'odd', versions: [{groupVersion: 'odd/v1/x'}]},
        ],
      },
      '/apis/example.com/v1': {kind: 'APIResourceList', resources: [widgets]},
      '/apis/example.com/v2': {kind: 'APIResourceList', resources: [widgets, {...widgets, name: 'gadgets'}]},
    }),
    plat,
  );
  const {resources, failed, malformed} = await discover(client);

  t.deepEqual(
    resources.map(({group, version, resource}) => `${group}/${version} ${resource}`),
    ['/v1 pods', 'example.com/v1 widgets', 'example.com/v2 gadgets'],
  );
  t.deepEqual([...failed.keys()], ['broken.com/v1']);
  t.deepEqual(malformed, ['odd/v1/x']);
});

test('resources of a stale group are not found, and the group is reported', async t => {
  const aggregated = (items: readonly unknown[]) => ({kind: 'APIGroupDiscoveryList', items});
  const client = clientOver(
    answering({
      '/api': aggregated([]),
      '/apis': aggregated([{metadata: {name: 'metrics.example.com'}, versions: [{version: 'v1', freshness: 'Stale'}]}]),
    }),
    plat,
  );

  t.deepEqual([...(await discover(client)).failed], [['metrics.example.com/v1', 'stale GroupVersion discovery: metrics.example.com/v1']]);
});

const resource = (name: string, group = '') => ({group, version: 'v1', resource: name, kind: '', namespaced: true, verbs: []});
const fine: ContentDeletion = {discovered: {failed: new Map(), malformed: []}, leftovers: []};
const at = (now: string) => ({naming: plat, now});

test('conditions list everything that blocks the deletion, sorted', t => {
  const conditions = nextConditions(
    [],
    {
      discovered: {
        failed: new Map([
          ['b/v1', 'away'],
          ['a/v1', 'gone'],
        ]),
        malformed: ['x/y/z'],
      },
      leftovers: [
        [resource('pods'), {count: 2, finalizers: new Map([['z', 2]]), estimateSeconds: 30}],
        [
          resource('deployments', 'apps'),
          {
            count: 1,
            finalizers: new Map([
              ['a', 1],
              ['z', 1],
            ]),
            estimateSeconds: 15,
            error: new Error('refused'),
          },
        ],
      ],
    },
    at('2026-01-01T00:00:00Z'),
  );

  t.deepEqual(
    conditions?.map(({status, reason, message}) => [status, reason, message]),
    [
      [
        'True',
        'DiscoveryFailed',
        'Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: a/v1: gone, b/v1: away',
      ],
      ['True', 'GroupVersionParsingFailed', 'unexpected GroupVersion string: x/y/z'],
      ['True', 'ContentDeletionFailed', 'Failed to delete all resource types, 1 remaining: refused'],
      [
        'True',
        'SomeResourcesRemain',
        'Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances',
      ],
      ['True', 'SomeFinalizersRemain', `${withFinalizers}: a in 1 resource instances, z in 3 resource instances`],
    ],
  );
});

test('conditions are written only when they change, and their times move only when a status does', t => {
  const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z'];
  const first = nextConditions([{type: 'Other', status: 'True'}], fine, at(early))!;
  t.is(nextConditions(first, fine, at(late)), undefined);

  const remaining = (count: number): ContentDeletion => ({
    ...fine,
    leftovers: [[resource('pods'), {count, finalizers: new Map(), estimateSeconds: 1}]],
  });
  const second = nextConditions(first, remaining(2), at(late))!;
  const third = nextConditions(second, remaining(1), at('2026-01-01T02:00:00Z'))!;
  const times = (conditions: typeof first) => conditions.map(({lastTransitionTime}) => lastTransitionTime);

  t.deepEqual(times(second), [undefined, early, early, early, late, early]);
  t.deepEqual(times(third), times(second));
  t.is(third[0]?.type, 'Other');
});
