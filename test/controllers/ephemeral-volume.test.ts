import test, {type ExecutionContext} from 'ava';
import controller from '#controllers/ephemeral-volume/controller.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {alone} from './workloads.js';

// The scenarios of upstream's pkg/controller/volume/ephemeral/controller_test.go: TestSyncHandler. Its no-such-pod is
// the first retry of a pod that is gone.
const start = (t: ExecutionContext) => alone(t, [controller], {concurrentEphemeralvolumeSyncs: 5});
const template = {
  metadata: {labels: {app: 'a'}, annotations: {note: 'b'}},
  spec: {accessModes: ['ReadWriteOnce'], storageClassName: 'fast', resources: {requests: {storage: '1Gi'}}},
};
const aPod = (name: string, volumes: readonly string[], metadata: Pod['metadata'] = {}): Pod => ({
  metadata: {name, ...metadata},
  spec: {
    containers: [{name: 'c', image: 'i'}],
    volumes: volumes.map(volume => ({name: volume, ephemeral: {volumeClaimTemplate: template}})),
  },
});
const claims = async ({list}: Awaited<ReturnType<typeof start>>) =>
  (await list(kinds.persistentVolumeClaims)).map(({metadata}) => metadata?.name).sort();

test('each ephemeral volume of a pod gets a claim from its template, which belongs to the pod', async t => {
  const at = await start(t);
  const pod = await at.create(kinds.pods, aPod('p', ['one', 'two']));
  t.deepEqual(await claims(at), ['p-one', 'p-two']);
  const {metadata, spec} = await at.get(kinds.persistentVolumeClaims, 'p-one');
  t.deepEqual(metadata?.ownerReferences, [
    {apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata!.uid!, controller: true, blockOwnerDeletion: true},
  ]);
  t.deepEqual([metadata?.labels, metadata?.annotations], [{app: 'a'}, {note: 'b'}]);
  t.like(spec, template.spec);
  t.is(at.meter.value('ephemeral_volume_controller_create_total'), 2);
});

test('a pod without ephemeral volumes gets none, and neither does one that is being deleted', async t => {
  const at = await start(t);
  await at.create(kinds.pods, aPod('plain', []));
  at.own.always(call => (call === 'create persistentvolumeclaims' ? new Error('not now') : undefined));
  await at.create(kinds.pods, aPod('going', ['one'], {finalizers: ['example.com/held']}));
  await at.remove(kinds.pods, 'going', {gracePeriodSeconds: 0});
  at.own.always(undefined);
  await at.clock.advance(60_000);
  t.deepEqual(await claims(at), []);
});

test('a claim of the name that belongs to another is reported on the pod, until it is deleted', async t => {
  const at = await start(t);
  await at.create(kinds.persistentVolumeClaims, {metadata: {name: 'p-one'}, spec: template.spec});
  await at.create(kinds.pods, aPod('p', ['one']));
  t.is(
    (await at.eventsOn('p'))[0],
    'Warning FailedBinding ephemeral volume one: PVC default/p-one was not created for pod default/p (pod is not owner)',
  );
  await at.remove(kinds.persistentVolumeClaims, 'p-one');
  t.is((await at.get(kinds.persistentVolumeClaims, 'p-one')).metadata?.ownerReferences?.[0]?.name, 'p');
});

test('a claim of the name in another namespace does not matter', async t => {
  const at = await start(t);
  await at.client.resource(kinds.namespaces).create({metadata: {name: 'other'}});
  await at.create(kinds.persistentVolumeClaims, {metadata: {name: 'p-one', namespace: 'other'}, spec: template.spec});
  await at.create(kinds.pods, aPod('p', ['one']));
  t.deepEqual((await at.get(kinds.persistentVolumeClaims, 'p-one')).metadata?.ownerReferences?.[0]?.name, 'p');
  t.deepEqual(await at.eventsOn('p'), []);
});

test('a claim that is deleted by hand is created again', async t => {
  const at = await start(t);
  await at.create(kinds.pods, aPod('p', ['one']));
  await at.remove(kinds.persistentVolumeClaims, 'p-one');
  t.deepEqual(await claims(at), ['p-one']);
});

test('a failed creation is counted, reported and repeated', async t => {
  const at = await start(t);
  at.own.fail('create persistentvolumeclaims', new Error('the store is full'));
  await at.create(kinds.pods, aPod('p', ['one']));
  await at.clock.advance(1_000);
  t.deepEqual(await at.eventsOn('p'), ['Warning FailedBinding ephemeral volume one: create PVC p-one: the store is full']);
  t.is(at.meter.value('ephemeral_volume_controller_create_failures_total'), 1);
  t.deepEqual(await claims(at), ['p-one']);
});
