import test from 'ava';
import {ordinalOf, setNameOf} from '#controllers/statefulset/ordinals.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {PlaneActions} from './workloads.js';
import {aSet, changed, image, type Spec, startEnvironment, type StatefulSet} from './statefulsets.js';

const {subKey} = naming('plat');

test('the place of a pod is read from its name', t => {
  const cases: readonly [string, string, number | undefined][] = [
    ['web-0', 'web', 0],
    ['a-b-12', 'a-b', 12],
    ['web', '', undefined],
    ['web-', '', undefined],
    ['web-x', '', undefined],
    ['web-01', 'web', undefined],
    ['web-2147483648', 'web', undefined],
  ];
  for (const [name, set, ordinal] of cases) t.deepEqual([setNameOf(name), ordinalOf(name)], [set, ordinal], name);
});

test('pods are created one after the other, each with its name, ordinal and claims', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.statefulSets,
    aSet('web', {
      replicas: 2,
      volumeClaimTemplates: [
        {metadata: {name: 'data', labels: {of: 'data'}}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}}},
      ],
    }),
  );
  t.deepEqual(await at.names(), ['web-0']);
  await at.runs('web-0', {ready: false});
  t.deepEqual(await at.names(), ['web-0']);
  await at.runs('web-0');

  t.deepEqual(await at.names(), ['web-0', 'web-1']);
  const {metadata, spec} = await at.get(kinds.pods, 'web-1');
  const [revision] = await at.revisions();
  const set = await at.set();
  t.deepEqual(metadata?.labels, {
    app: 'a',
    [subKey('statefulset', 'pod-name')]: 'web-1',
    [subKey('apps', 'pod-index')]: '1',
    'controller-revision-hash': revision!.metadata!.name!,
  });
  t.deepEqual([spec?.hostname, spec?.subdomain, metadata?.generateName], ['web-1', 'svc', 'web-']);
  t.deepEqual(
    spec?.volumes?.find(({name}) => name === 'data'),
    {name: 'data', persistentVolumeClaim: {claimName: 'data-web-1'}},
  );
  t.deepEqual(metadata?.ownerReferences, [
    {apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: set.metadata!.uid!, controller: true, blockOwnerDeletion: true},
  ]);
  const claim = await at.get(kinds.persistentVolumeClaims, 'data-web-1');
  t.deepEqual(
    [claim.metadata?.labels, claim.metadata?.ownerReferences, claim.spec?.resources?.requests?.['storage']],
    [{app: 'a', of: 'data'}, undefined, '1Gi'],
  );
  t.deepEqual(await at.eventsOn('web'), [
    'Normal SuccessfulCreate Create Claim data-web-0 Pod web-0 in StatefulSet web success',
    'Normal SuccessfulCreate Create Pod web-0 in StatefulSet web successful',
    'Normal SuccessfulCreate Create Claim data-web-1 Pod web-1 in StatefulSet web success',
    'Normal SuccessfulCreate Create Pod web-1 in StatefulSet web successful',
  ]);
  const name = revision!.metadata!.name!;
  t.regex(name, /^web-[bcdfghjklmnpqrstvwxz2456789]{8,10}$/);
  t.deepEqual(set.status, {
    observedGeneration: 1,
    replicas: 2,
    readyReplicas: 1,
    availableReplicas: 1,
    currentReplicas: 2,
    updatedReplicas: 2,
    currentRevision: name,
    updateRevision: name,
    collisionCount: 0,
  });
  const [event] = await at.list(kinds.coreEvents);
  t.deepEqual([event?.source?.component, event?.involvedObject.kind], ['statefulset-controller', 'StatefulSet']);
});

test('all pods are created and deleted at once under parallel pod management', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {replicas: 5, podManagementPolicy: 'Parallel', ordinals: {start: 7}}));
  t.deepEqual(await at.names(), ['web-10', 'web-11', 'web-7', 'web-8', 'web-9']);

  await at.change({spec: {replicas: 1}});
  t.deepEqual(await at.names(), ['web-7']);
  t.deepEqual((await at.set()).status?.replicas, 1);
});

test('pods go from the last on, each once the one before is gone, and none while one that stays does not work', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {replicas: 4}));
  t.deepEqual(await at.play(), ['web-0', 'web-1', 'web-2', 'web-3']);
  await at.runs('web-0', {ready: false});
  await at.change({spec: {replicas: 1}});
  t.deepEqual(await at.names(), ['web-0', 'web-1', 'web-2', 'web-3']);
  await at.runs('web-2', {ready: false});
  await at.runs('web-3', {ready: false});
  await at.runs('web-0');
  // The last does not work, and neither does the one before, which would be the one to wait for.
  t.deepEqual(await at.names(), ['web-0', 'web-1', 'web-2', 'web-3']);
  await at.runs('web-3');

  t.deepEqual(await at.names(), ['web-0']);
  const gone = (await at.eventsOn('web')).filter(event => event.includes('Delete'));
  t.deepEqual(
    gone,
    [3, 2, 1].map(n => `Normal SuccessfulDelete Delete Pod web-${n} in StatefulSet web successful`),
  );
});

test('another first place makes pods before and takes pods away behind', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {replicas: 2, ordinals: {start: 2}}));
  await at.play();
  t.deepEqual(await at.names(), ['web-2', 'web-3']);
  await at.change({spec: {ordinals: {start: 1}}});
  t.deepEqual(await at.names(), ['web-1', 'web-2', 'web-3']);
  await at.play();
  t.deepEqual(await at.names(), ['web-1', 'web-2']);
});

test('a pod whose work is over is made again under its name', async t => {
  for (const phase of ['Failed', 'Succeeded']) {
    const at = await startEnvironment();
    await using _ = at.plane;
    await at.create(kinds.statefulSets, aSet());
    await at.play();
    const before = (await at.get(kinds.pods, 'web-1')).metadata?.uid;
    await at.runs('web-1', {phase, ready: false});

    t.not((await at.get(kinds.pods, 'web-1')).metadata?.uid, before, phase);
    t.deepEqual(await at.names(), ['web-0', 'web-1', 'web-2']);
  }
});

test('conditions that others set stay', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {replicas: 1}));
  const condition = {type: 'Mine', status: 'True', reason: 'Test', message: 'x'};
  await at.patch(kinds.statefulSets, 'web', {status: {conditions: [condition]}}, 'status');
  await at.play();

  const {status} = await at.set();
  t.deepEqual([status?.conditions, status?.readyReplicas], [[{...condition, lastTransitionTime: null}], 1]);
});

test('a set of zero replicas is reported as such', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {replicas: 0}));

  const {currentRevision, updateRevision, ...counts} = (await at.set()).status!;
  t.deepEqual(counts, {observedGeneration: 1, replicas: 0, availableReplicas: 0, collisionCount: 0});
  t.is(currentRevision, updateRevision);
});

test('a pod of the name with another owner is waited for without an Event', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.pods, {metadata: {name: 'web-0'}, spec: image(1).spec!});
  await at.create(kinds.statefulSets, aSet('web', {replicas: 1}));
  t.deepEqual([await at.eventsOn('web'), (await at.set()).status?.replicas], [[], 0]);
  await at.remove(kinds.pods, 'web-0');
  await at.clock.advance(60_000);

  t.is((await at.podsOf('web')).length, 1);
});

const withClaims = (policy: Spec['persistentVolumeClaimRetentionPolicy'], replicas = 2): StatefulSet =>
  aSet('web', {
    replicas,
    persistentVolumeClaimRetentionPolicy: policy!,
    volumeClaimTemplates: [{metadata: {name: 'data'}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}}}],
  });
const ownersOf = async (at: Pick<PlaneActions, 'get'>, name: string) =>
  ((await at.get(kinds.persistentVolumeClaims, name)).metadata?.ownerReferences ?? []).map(
    ({kind, name: owner, controller}) => `${kind} ${owner} ${controller}`,
  );

for (const [whenDeleted, whenScaled, staying, going] of [
  ['Retain', 'Retain', [], []],
  ['Delete', 'Retain', ['StatefulSet web true'], ['StatefulSet web true']],
  ['Retain', 'Delete', [], ['Pod web-1 true']],
  ['Delete', 'Delete', ['StatefulSet web true'], ['Pod web-1 true']],
] as const) {
  test(`claims are owned as the policy requests: deleted ${whenDeleted}, scaled ${whenScaled}`, async t => {
    const at = await startEnvironment();
    await using _ = at.plane;
    await at.create(kinds.statefulSets, withClaims({whenDeleted, whenScaled}));
    await at.play();
    t.deepEqual([await ownersOf(at, 'data-web-0'), await ownersOf(at, 'data-web-1')], [[...staying], [...staying]]);
    await at.change({spec: {replicas: 1}});
    t.deepEqual(await at.names(), ['web-0']);
    t.deepEqual(await ownersOf(at, 'data-web-1'), [...going]);
    await at.change({spec: {replicas: 2}});

    // A claim that goes with the pod that was scaled away has to be gone before its name is used again.
    t.deepEqual(await at.names(), whenScaled === 'Delete' ? ['web-0'] : ['web-0', 'web-1']);
    await at.patch(kinds.persistentVolumeClaims, 'data-web-1', {metadata: {finalizers: null}});
    if (whenScaled === 'Delete') await at.remove(kinds.persistentVolumeClaims, 'data-web-1');
    t.deepEqual(await at.names(), ['web-0', 'web-1']);
  });
}

test('a claim with another controller is left alone, with an event', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const other = {apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x', controller: true};
  const {spec} = withClaims(undefined).spec!.volumeClaimTemplates![0]!;
  await at.create(kinds.persistentVolumeClaims, {metadata: {name: 'data-web-0', ownerReferences: [other]}, spec: spec!});
  await at.create(kinds.statefulSets, withClaims({whenDeleted: 'Delete', whenScaled: 'Retain'}, 1));
  await at.play();

  t.deepEqual(await ownersOf(at, 'data-web-0'), ['ConfigMap x true']);
  t.true(
    (await at.eventsOn('web')).includes(
      'Warning ConflictingController PersistentVolumeClaim data-web-0 has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim',
    ),
  );
});

test('a claim that was deleted while its pod waits is made again', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, withClaims(undefined, 1));
  const before = (await at.get(kinds.persistentVolumeClaims, 'data-web-0')).metadata?.uid;
  await at.patch(kinds.persistentVolumeClaims, 'data-web-0', {metadata: {finalizers: null}});
  await at.remove(kinds.persistentVolumeClaims, 'data-web-0');

  const after = (await at.get(kinds.persistentVolumeClaims, 'data-web-0')).metadata?.uid;
  t.truthy(after);
  t.not(after, before);
});

test('labels of the identity of a pod are restored', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {replicas: 1}));
  await at.play();
  const label = subKey('statefulset', 'pod-name');
  await at.patch(kinds.pods, 'web-0', {metadata: {labels: {[label]: null}}});

  t.is((await at.get(kinds.pods, 'web-0')).metadata?.labels?.[label], 'web-0');
  t.true((await at.eventsOn('web')).includes('Normal SuccessfulUpdate Update Pod web-0 in StatefulSet web successful'));
});

test('a pod that cannot be created gives an event', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const {metadata, spec} = image(1);
  await at.create(kinds.statefulSets, aSet('web', {template: {metadata: metadata!, spec: {...spec!, serviceAccountName: 'none'}}}));

  t.is(
    (await at.eventsOn('web'))[0],
    'Warning FailedCreate Create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: error looking up service account default/none: serviceaccount "none" not found',
  );
  t.deepEqual((await at.set()).status?.observedGeneration, 1);
});

test('pods that remain after their set are adopted by the next one, without a restart', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet());
  await at.play();
  const uids = async () => (await at.list(kinds.pods)).map(({metadata}) => metadata?.uid).sort();
  const before = await uids();
  await at.remove(kinds.statefulSets, 'web', {propagationPolicy: 'Background'});
  // The garbage collector's part in orphaning.
  for (const name of await at.names()) await at.patch(kinds.pods, name, {metadata: {ownerReferences: []}});
  for (const {metadata} of await at.revisions())
    await at.patch(kinds.controllerRevisions, metadata!.name!, {metadata: {ownerReferences: []}});
  await at.create(kinds.statefulSets, aSet());

  t.deepEqual(await uids(), before);
  const set = await at.set();
  for (const {metadata} of [...(await at.list(kinds.pods)), ...(await at.revisions())])
    t.is(metadata?.ownerReferences?.[0]?.uid, set.metadata?.uid);
  t.is((await at.revisions()).length, 1);
  t.is(set.status?.readyReplicas, 3);
});

test('no more old revisions are kept than the limit, and none that a pod uses is deleted', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {replicas: 1, revisionHistoryLimit: 1}));
  for (const version of [2, 3, 4]) {
    await at.play();
    await at.change(changed(version));
  }
  await at.play();

  t.deepEqual(
    (await at.revisions()).map(({revision}) => revision),
    [3, 4],
  );
});

test('a terminating set creates nothing and updates its status', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, {...aSet(), metadata: {name: 'web', finalizers: ['example.com/wait']}});
  await at.play();
  await at.remove(kinds.statefulSets, 'web');
  await at.remove(kinds.pods, 'web-1');
  for (const {metadata} of await at.revisions()) await at.remove(kinds.controllerRevisions, metadata!.name!);
  await at.remove(kinds.pods, 'web-2');

  t.deepEqual(await at.names(), ['web-0']);
  t.deepEqual(await at.revisions(), []);
});
