import test from 'ava';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {aDirectory} from '#test/cli/programs.js';
import {aPod, kinds, Situations} from './situations.js';

const simulationFile = join(aDirectory(), 'rules.yaml');
writeFileSync(
  simulationFile,
  'volumes:\n- match: {claims: broken}\n  provisionError: the array is full\n- match: {claims: stuck}\n  attachError: the device is busy\n',
);
const at = await Situations.start(
  [
    'persistentvolume-binder-controller',
    'persistentvolume-attach-detach-controller',
    'persistentvolumeclaim-protection-controller',
    'persistentvolume-protection-controller',
    'node-lifecycle-controller',
  ],
  {nodes: 1, simulationFile},
);
test.after.always(() => at[Symbol.asyncDispose]());

const [seconds, minutes] = [1_000, 60_000];

const aClaim = (name: string, spec: object = {}) => ({
  metadata: {name},
  spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, ...spec},
});
const using = (claimName: string) => ({volumes: [{name: 'data', persistentVolumeClaim: {claimName}}]});

test.serial('a claim of a class that does not exist waits for the class, and so does its pod', async t => {
  await at.create(kinds.persistentVolumeClaims, aClaim('unknown', {storageClassName: 'fast'}));
  await at.create(kinds.pods, aPod('unknown', using('unknown')));

  t.deepEqual(await at.answer(kinds.pods, 'unknown', 20 * seconds), [
    'Pod default/unknown is blocked by PersistentVolumeClaim default/unknown: its storage class fast does not exist, and no volume of it matches.',
    'The creation of the storage class fast, or of a volume of this class.',
  ]);
});

test.serial('a claim without a class waits for a volume that matches', async t => {
  await at.create(kinds.persistentVolumeClaims, aClaim('static', {storageClassName: ''}));

  t.deepEqual(await at.answer(kinds.persistentVolumeClaims, 'static', 20 * seconds), [
    'PersistentVolumeClaim default/static is blocked: no volume without a class matches its size, access modes and selector.',
    'A volume that matches.',
  ]);
});

test.serial('a claim of a class that waits for its first consumer waits for a pod', async t => {
  await at.create(kinds.persistentVolumeClaims, aClaim('unused', {storageClassName: 'standard'}));

  t.deepEqual(await at.answer(kinds.persistentVolumeClaims, 'unused', 20 * seconds), [
    'PersistentVolumeClaim default/unused is blocked: its class standard makes volumes when the first pod that uses them is placed (WaitForFirstConsumer), and no pod uses it.',
    'A pod that uses it.',
  ]);
});

test.serial('a claim of a class without a provisioner waits for a volume', async t => {
  await at.create(kinds.storageClasses, {metadata: {name: 'local'}, provisioner: 'kubernetes.io/no-provisioner'});
  await at.create(kinds.persistentVolumeClaims, aClaim('local', {storageClassName: 'local'}));

  t.deepEqual(await at.answer(kinds.persistentVolumeClaims, 'local', 20 * seconds), [
    'PersistentVolumeClaim default/local is blocked: its class local provisions no volumes, and none of those there are matches it.',
    'A volume of the class local that matches its size, access modes and selector.',
  ]);
});

test.serial('a claim whose driver is not installed waits for the driver', async t => {
  await at.create(kinds.storageClasses, {metadata: {name: 'remote'}, provisioner: 'csi.example.com'});
  await at.create(kinds.persistentVolumeClaims, aClaim('remote', {storageClassName: 'remote'}));

  t.deepEqual(await at.answer(kinds.persistentVolumeClaims, 'remote', 20 * seconds), [
    'PersistentVolumeClaim default/remote is blocked: its class remote is of the provisioner csi.example.com, of which nothing is seen in the cluster.',
    'A driver csi.example.com that is installed and runs.',
  ]);
});

test.serial('a pod whose volume cannot be provisioned waits for the provisioner', async t => {
  await at.create(kinds.persistentVolumeClaims, aClaim('broken', {storageClassName: 'standard'}));
  await at.create(kinds.pods, aPod('broken', using('broken')));

  t.deepEqual(await at.answer(kinds.pods, 'broken', minutes), [
    'Pod default/broken is blocked by PersistentVolumeClaim default/broken: its volume cannot be provisioned: failed to provision volume with StorageClass "standard": rpc error: code = Internal desc = the array is full.',
    'The provisioner csi.simulation.kubernetes.io, once it succeeds; it tries again.',
  ]);
});

test.serial('a pod whose volume cannot be attached waits for the attacher', async t => {
  await at.create(kinds.persistentVolumeClaims, aClaim('stuck', {storageClassName: 'standard'}));
  await at.create(kinds.pods, aPod('stuck', using('stuck')));

  const answer = await at.answer(kinds.pods, 'stuck', minutes);
  t.deepEqual(
    answer.map(text => text?.replaceAll(/pvc-[0-9a-f-]+/g, 'VOLUME').replaceAll(/csi-[0-9a-f]+/g, 'ATTACHMENT')),
    [
      'Pod default/stuck is blocked by VolumeAttachment ATTACHMENT: the driver csi.simulation.kubernetes.io cannot attach the volume VOLUME to the node plat-node-0: rpc error: code = Internal desc = the device is busy.',
      'The attacher of the driver csi.simulation.kubernetes.io, once it succeeds; it tries again.',
    ],
  );
});

test.serial('a claim that is being deleted waits for the pod that uses it', async t => {
  await at.create(kinds.persistentVolumeClaims, aClaim('used', {storageClassName: 'standard'}));
  await at.create(kinds.pods, aPod('user', using('used')));
  await at.plane.clock.advance(20 * seconds);
  await at.delete(kinds.persistentVolumeClaims, 'used');

  t.deepEqual(await at.answer(kinds.persistentVolumeClaims, 'used', 5 * seconds), [
    'PersistentVolumeClaim default/used is blocked: it is being deleted, and the finalizer kubernetes.io/pvc-protection keeps it: the pod user still uses the claim.',
    'The end of the pod user, or of all pods that use the claim.',
  ]);
});

test.serial('a volume that was kept after its claim is free for no other claim', async t => {
  const spec = {
    storageClassName: 'kept',
    capacity: {storage: '1Gi'},
    accessModes: ['ReadWriteOnce'],
    hostPath: {path: '/data'},
    persistentVolumeReclaimPolicy: 'Retain',
  };
  await at.create(kinds.persistentVolumes, {metadata: {name: 'kept'}, spec});
  await at.create(kinds.persistentVolumeClaims, aClaim('kept', {storageClassName: 'kept'}));
  await at.plane.clock.advance(30 * seconds);
  t.deepEqual(await at.answer(kinds.persistentVolumeClaims, 'kept'), [
    'PersistentVolumeClaim default/kept waits for nothing: it is bound to the volume kept of 1Gi.',
    undefined,
  ]);
  await at.delete(kinds.persistentVolumeClaims, 'kept');

  t.deepEqual(await at.answer(kinds.persistentVolumes, 'kept', 30 * seconds), [
    'PersistentVolume kept is blocked: its claim default/kept is gone, and with the policy Retain it is kept and no other claim gets it.',
    'Its deletion, or a patch that removes spec.claimRef, with which it is free for another claim.',
  ]);
});
