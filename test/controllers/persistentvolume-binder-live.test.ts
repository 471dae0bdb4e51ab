import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import controller from '#controllers/persistentvolume-binder/controller.js';
import {recyclerPod, scrubber} from '#controllers/shared/volumes/recycler.js';
import {recyclerSettings} from '#controllers/persistentvolume-binder/options.js';
import {specOf} from '#controllers/shared/volumes/plugin.js';
import {kinds} from '#src/api/kinds/index.js';
import {systemFiles} from '#src/base/files/files.js';
import type {Claim, Volume} from '#src/model/volumes.js';
import {alone} from './workloads.js';
import {binderOptions} from './volumes.js';

const aVolume = (name: string, spec: Partial<NonNullable<Volume['spec']>> = {}): Volume => ({
  metadata: {name},
  spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/data'}, ...spec},
});
const aClaim = (name: string, spec: Partial<NonNullable<Claim['spec']>> = {}): Claim => ({
  metadata: {name},
  spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, ...spec},
});
const aClass = (name: string, parameters: Record<string, string> = {}, provisioner = 'plat.io/simulated') => ({
  metadata: {name},
  provisioner,
  parameters,
});

const start = (t: Parameters<typeof alone>[0], options: object = {}) => alone(t, [controller], {...binderOptions, ...options});
const phases = async ({list}: Awaited<ReturnType<typeof start>>) =>
  (await list(kinds.persistentVolumeClaims)).map(
    ({metadata, spec, status}) => `${metadata?.name} ${status?.phase} ${spec?.volumeName ?? '-'}`,
  );

test('of two claims for one volume one gets it, and the other once the first is deleted and the volume is recycled', async t => {
  const at = await start(t);
  await at.create(kinds.persistentVolumes, aVolume('v', {persistentVolumeReclaimPolicy: 'Recycle'}));
  await at.create(kinds.persistentVolumeClaims, aClaim('one'));
  await at.create(kinds.persistentVolumeClaims, aClaim('two'));
  t.deepEqual(await phases(at), ['one Bound v', 'two Pending -']);

  await at.remove(kinds.persistentVolumeClaims, 'one');
  const pod = await at.get(kinds.pods, 'recycler-for-v');
  t.deepEqual(pod.spec?.volumes?.[0], {name: 'vol', hostPath: {path: '/data', type: ''}});
  t.is(pod.spec?.activeDeadlineSeconds, 60);
  await at.create(kinds.coreEvents, {
    metadata: {name: 'e'},
    involvedObject: {kind: 'Pod', name: 'recycler-for-v', namespace: 'default'},
    type: 'Normal',
    reason: 'Pulled',
    message: 'pulled the image',
  });
  await at.runs('recycler-for-v', {phase: 'Succeeded', ready: false});
  await at.clock.advance(15_000);

  t.deepEqual(await phases(at), ['two Bound v']);
  t.deepEqual(await at.eventsOn('v'), ['Normal RecyclerPod Recycler pod: pulled the image', 'Normal VolumeRecycled Volume recycled']);
  t.deepEqual(
    (await at.list(kinds.pods)).filter(each => !each.metadata?.deletionTimestamp),
    [],
  );
});

test('a recycler pod that fails or is deleted makes the volume fail until a later one succeeds', async t => {
  const at = await start(t);
  await at.create(kinds.persistentVolumes, aVolume('v', {persistentVolumeReclaimPolicy: 'Recycle'}));
  await at.create(kinds.persistentVolumeClaims, aClaim('one'));
  await at.remove(kinds.persistentVolumeClaims, 'one');
  await at.patch(kinds.pods, 'recycler-for-v', {status: {phase: 'Failed', message: 'disk is broken'}}, 'status');
  await at.remove(kinds.pods, 'recycler-for-v', {gracePeriodSeconds: 0}).catch(() => {});
  const failed = await at.client.resource(kinds.persistentVolumes).get('v');
  t.deepEqual([failed.status?.phase, failed.status?.message], ['Failed', 'Recycle failed: disk is broken']);

  await at.clock.advance(15_000);
  await at.runs('recycler-for-v', {phase: 'Succeeded', ready: false});
  const recycled = await at.client.resource(kinds.persistentVolumes).get('v');
  t.deepEqual([recycled.status?.phase, recycled.status?.message, recycled.spec?.claimRef], ['Available', undefined, undefined]);
});

test('a claim gets a provisioned volume, which is deleted with it', async t => {
  const at = await start(t);
  await at.client.resource(kinds.storageClasses).create(aClass('gold', {provisionDelay: '3s', deleteDelay: '2s'}));
  await at.create(kinds.persistentVolumeClaims, aClaim('c', {storageClassName: 'gold'}));
  await at.clock.advance(2_000);
  t.deepEqual(await phases(at), ['c Pending -']);
  await at.clock.advance(1_100);
  const {metadata} = await at.get(kinds.persistentVolumeClaims, 'c');
  t.deepEqual(await phases(at), [`c Bound pvc-${metadata?.uid}`]);
  const text = (await at.meter.exposition()).body;
  t.regex(text, /^pv_collector_bound_pv_count\{storage_class="gold"\} 1$/m);
  t.regex(text, /^pv_collector_bound_pvc_count\{namespace="default",storage_class="gold",volume_attributes_class=""\} 1$/m);
  t.regex(text, /^pv_collector_total_pv_count\{plugin_name="plat.io\/simulated",volume_mode="Filesystem"\} 1$/m);
  t.regex(text, /^volume_operation_total_seconds_count\{plugin_name="plat.io\/simulated",operation_name="provision"\} 1$/m);

  await at.remove(kinds.persistentVolumeClaims, 'c');
  await at.clock.advance(2_100);
  t.deepEqual((await at.client.resource(kinds.persistentVolumes).list()).items, []);
  t.regex(
    (await at.meter.exposition()).body,
    /^volume_operation_total_seconds_count\{plugin_name="plat.io\/simulated",operation_name="delete"\} 1$/m,
  );
});

test('a volume that cannot be saved is saved again five times, then its storage is deleted', async t => {
  const at = await start(t);
  await at.client.resource(kinds.storageClasses).create(aClass('gold', {deleteError: 'still in use'}));
  at.own.fail('create persistentvolumes', ...Array.from({length: 5}, () => new Error('the store is full')));
  await at.create(kinds.persistentVolumeClaims, aClaim('c', {storageClassName: 'gold'}));
  await at.clock.advance(90_000);

  t.deepEqual((await at.eventsOn('c')).slice(0, 2), [
    'Warning ProvisioningFailed Error creating provisioned PV object for claim default/c: the store is full. Deleting the volume.',
    'Warning ProvisioningCleanupFailed Error cleaning provisioned volume for claim default/c: still in use. Please delete manually.',
  ]);
  t.regex(
    (await at.meter.exposition()).body,
    /^volume_operation_total_errors\{plugin_name="plat.io\/simulated",operation_name="provision"\} 1$/m,
  );
  await at.clock.advance(60_000);
  t.regex((await phases(at))[0]!, /^c Bound pvc-/);
});

test('a claim without a class gets one that becomes the default later', async t => {
  const at = await start(t);
  await at.create(kinds.persistentVolumeClaims, aClaim('c'));
  t.deepEqual(await phases(at), ['c Pending -']);
  const metadata = {name: 'gold', annotations: {'storageclass.plat.io/is-default-class': 'true'}};
  await at.client.resource(kinds.storageClasses).create({...aClass('gold'), metadata});
  await at.clock.advance(30_000);

  const claim = await at.get(kinds.persistentVolumeClaims, 'c');
  t.deepEqual([claim.spec?.storageClassName, claim.status?.phase], ['gold', 'Bound']);
  t.regex((await at.meter.exposition()).body, /^retroactive_storageclass_total 1$/m);
});

test('a claim that is recreated under its name does not get the volume that was kept', async t => {
  const at = await start(t);
  await at.create(kinds.persistentVolumes, aVolume('v'));
  await at.create(kinds.persistentVolumeClaims, aClaim('c'));
  await at.remove(kinds.persistentVolumeClaims, 'c');
  await at.create(kinds.persistentVolumeClaims, aClaim('c'));
  await at.clock.advance(15_000);

  t.deepEqual(await phases(at), ['c Pending -']);
  t.is((await at.client.resource(kinds.persistentVolumes).get('v')).status?.phase, 'Released');
});

test('host-path volumes are folders of this machine', async t => {
  const at = await start(t, {enableHostpathProvisioner: true});
  await at.client.resource(kinds.storageClasses).create(aClass('folders', {}, 'plat.io/host-path'));
  await at.create(kinds.persistentVolumeClaims, aClaim('c', {storageClassName: 'folders'}));
  await at.clock.advance(15_000);
  const [volume] = (await at.client.resource(kinds.persistentVolumes).list()).items;
  const path = volume?.spec?.hostPath?.path ?? '';
  t.regex(path, /^\/tmp\/hostpath_pv\/[0-9a-f-]{36}$/);
  t.not(systemFiles.stamp(path), '');

  await at.remove(kinds.persistentVolumeClaims, 'c');
  for (let turn = 0; turn < 100 && systemFiles.stamp(path) !== ''; turn++) await new Promise(resolve => setImmediate(resolve));
  await at.clock.advance(15_000);
  t.is(systemFiles.stamp(path), '');
});

test('a recycler pod has a minute, or half a minute for each GiB, and a template of its own may be given', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-recycler-'));
  t.teardown(() => rmSync(folder, {recursive: true, force: true}));
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const given =
    'metadata: {name: x, namespace: tools, generateName: y-}\nspec:\n  volumes: [{name: data, emptyDir: {}}]\n  containers: [{name: c, image: i}]\n';
  const settings = await recyclerSettings({...binderOptions, pvRecyclerPodTemplateFilepathNfs: write('pod.yaml', given)}, systemFiles);
  const small = recyclerPod(specOf(aVolume('v')), settings.hostPath);
  const large = recyclerPod(specOf(aVolume('v', {capacity: {storage: '10Gi'}})), settings.hostPath);
  const own = recyclerPod(specOf(aVolume('v', {nfs: {server: 's', path: '/'}, hostPath: undefined as never})), settings.nfs);

  t.deepEqual([small.spec?.activeDeadlineSeconds, large.spec?.activeDeadlineSeconds, own.spec?.activeDeadlineSeconds], [60, 300, 300]);
  t.deepEqual(small.spec?.containers, scrubber.spec?.containers);
  t.deepEqual(own.metadata, {name: 'recycler-for-v', namespace: 'tools'});
  t.deepEqual(own.spec?.volumes, [{name: 'data', nfs: {server: 's', path: '/'}}]);
  const invalid = (file: string) => recyclerSettings({...binderOptions, pvRecyclerPodTemplateFilepathHostpath: file}, systemFiles);
  await t.throwsAsync(invalid(write('none.yaml', 'spec: {containers: [{name: c}]}')), {message: /it must have at least one volume/});
  await t.throwsAsync(invalid(join(folder, 'missing.yaml')), {message: /no such file or directory/});
});
