import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import type {ReadStrategy} from '#src/platlet/objects/pod-objects.js';
import {Claims} from '#src/platlet/volumes/claims.js';
import {PodTokens} from '#src/platlet/volumes/tokens.js';
import {aPlaneWithNode, run, type AgentPlane} from '#test/platlet/agent.js';
import {nodeUser, reading} from './reading.js';

const spec = {
  volumes: [
    {name: 'v', configMap: {name: 'c'}},
    {name: 's', secret: {secretName: 's'}},
  ],
};

const setUp = async (plane: AgentPlane): Promise<Pod> => {
  await plane
    .client()
    .resource(kinds.configMaps)
    .create({metadata: {name: 'c', namespace: 'default'}, data: {a: '1'}});
  await plane
    .client()
    .resource(kinds.secrets)
    .create({metadata: {name: 's', namespace: 'default'}, immutable: true, data: {}});
  return run(plane, 'pod', spec);
};

const change = (plane: AgentPlane, a: string) =>
  plane.client().resource(kinds.configMaps).patch('c', 'merge', {data: {a}}, {namespace: 'default'});

const rows: [strategy: ReadStrategy, changed: string, registered: string][] = [
  ['Watch', '2', '2'],
  ['Cache', '1', '2'],
  ['Get', '2', '2'],
];

for (const [strategy, changed, registered] of rows)
  test(`objects of pods are read by ${strategy}`, async t => {
    await using plane = await aPlaneWithNode();
    const pod = await setUp(plane);
    using reader = reading(plane, strategy);
    const read = async () => (await reader.objects.configMap('default', 'c')).data?.['a'];
    reader.objects.register(pod);
    t.is(await read(), '1');
    t.true((await reader.objects.secret('default', 's')).immutable);
    await change(plane, '2');
    await plane.clock.advance(100);
    t.is(await read(), changed);
    reader.objects.register(pod);
    t.is(await read(), registered);
    await change(plane, '3');
    await plane.clock.advance(60_000);
    t.is(await read(), '3');
    reader.objects.unregister('other');
    reader.objects.unregister(pod.metadata!.uid!);
    await plane.clock.advance(130_000);
  });

test('a watch that nobody reads ends, and begins anew', async t => {
  await using plane = await aPlaneWithNode();
  const pod = await setUp(plane);
  using reader = reading(plane, 'Watch');
  reader.objects.register(pod);
  await reader.objects.configMap('default', 'c');
  await plane.clock.advance(180_000);
  await change(plane, '2');
  t.is((await reader.objects.configMap('default', 'c')).data?.['a'], '2');
});

test('an object that is missing is named', async t => {
  await using plane = await aPlaneWithNode();
  await run(plane, 'pod', spec);
  using reader = reading(plane, 'Watch');
  await t.throwsAsync(reader.objects.configMap('default', 'c'), {message: 'configmap "c" not found'});
});

test('an object that the node may not see fails after a second', async t => {
  await using plane = await aPlaneWithNode();
  using reader = reading(plane, 'Watch');
  const read = t.throwsAsync(reader.objects.secret('default', 'other'), {
    message: 'failed to sync secret cache: timed out waiting for the condition',
  });
  await plane.clock.advance(1_000);
  await read;
});

test('tokens are for the pod, and renewed in the last fifth of their life', async t => {
  await using plane = await aPlaneWithNode();
  const {clock} = plane;
  await plane.clock.advance(1_000);
  const pod = await run(plane, 'pod', {serviceAccountName: 'default'});
  const tokens = new PodTokens({client: plane.client(nodeUser), clock, random: seededRandom(1), log: noLog});
  const wish = {audience: undefined, expirationSeconds: 600};
  const first = await tokens.get(pod, wish);
  const claims = JSON.parse(Buffer.from(first.split('.')[1]!, 'base64url').toString()) as {exp: number; iat: number};
  t.is(claims.exp - claims.iat, 600);
  await clock.advance(460_000);
  t.is(await tokens.get(pod, wish), first);
  await clock.advance(25_000);
  const second = await tokens.get(pod, wish);
  t.not(second, first);
  await plane.client().resource(kinds.pods).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});
  await clock.advance(500_000);
  t.is(await tokens.get(pod, wish), second);
  await clock.advance(200_000);
  await t.throwsAsync(tokens.get(pod, wish), {message: /^token "default"\/"default"\/10m0s expired and refresh failed: /});
  tokens.forget(pod.metadata!.uid!);
  await t.throwsAsync(tokens.get(pod, wish), {message: /^failed to fetch token: /});
});

test('a claim has to be bound to be used', async t => {
  await using plane = await aPlaneWithNode();
  const client = plane.client();
  const volume = {name: 'v', persistentVolumeClaim: {claimName: 'data', readOnly: true}};
  const pod = await run(plane, 'pod', {volumes: [volume]});
  const claims = new Claims(plane.client(nodeUser));
  t.is(await claims.of(pod, {name: 'v', emptyDir: {}}), undefined);
  const wrong = (message: string | RegExp) => t.throwsAsync(claims.of(pod, volume), {message});
  await wrong(/^error processing PVC default\/data: failed to fetch PVC from API server: persistentvolumeclaims "data" not found$/);
  const resources = {requests: {storage: '1Gi'}};
  const claim = await client.resource(kinds.persistentVolumeClaims).create({
    metadata: {name: 'data', namespace: 'default'},
    spec: {accessModes: ['ReadWriteOnce'], resources, volumeName: 'pv', storageClassName: ''},
  });
  await wrong('error processing PVC default/data: PVC is not bound');
  await client.resource(kinds.persistentVolumes).create({
    metadata: {name: 'pv'},
    spec: {
      capacity: {storage: '1Gi'},
      accessModes: ['ReadWriteOnce'],
      hostPath: {path: '/data'},
      claimRef: {name: 'data', namespace: 'default', uid: 'other'},
    },
  });
  await client
    .resource(kinds.persistentVolumeClaims)
    .patch('data', 'merge', {status: {phase: 'Bound'}}, {namespace: 'default', subresource: 'status'});
  await wrong('error processing PVC default/data: PV pv is not bound to PVC default/data');
  await client.resource(kinds.persistentVolumes).patch('pv', 'merge', {spec: {claimRef: {uid: claim.metadata!.uid!}}});
  const found = await claims.of(pod, volume);
  t.is(found?.persistent.spec?.hostPath?.path, '/data');
  t.true(found?.isReadonly);
});
