import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {problems, startWorld} from './world.js';

const namespace = 'default';

type Volume = ObjectOf<typeof kinds.persistentVolumes>;
type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;

const aVolume = (spec: Volume['spec'] = {}): Volume => ({
  metadata: {name: 'v'},
  spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/data'}, ...spec},
});
const aClaim = (spec: Claim['spec'] = {}): Claim => ({metadata: {name: 'c', namespace}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, ...spec}});

test('a volume begins pending, kept and a file system', async t => {
  const {of, row} = await startWorld();
  const made = await of(kinds.persistentVolumes).create({...aVolume(), status: {phase: 'Bound'}});

  t.like(made.spec, {persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem', hostPath: {path: '/data', type: ''}});
  t.is(made.status?.phase, 'Pending');
  t.truthy(made.status?.lastPhaseTransitionTime);
  t.like(await row(kinds.persistentVolumes, made), {Capacity: '1Gi', 'Access Modes': 'RWO', 'Reclaim Policy': 'Retain', Status: 'Pending', Claim: '', VolumeAttributesClass: '<unset>'});
});

const volumeCases: [title: string, spec: Volume['spec'], expected: string[]][] = [
  ['lies at one place', {nfs: {server: 's', path: '/'}}, ['spec.nfs: Forbidden: may not specify more than 1 volume type']],
  ['has a size', {capacity: {}}, ['spec.capacity: Required value', 'spec.capacity: Unsupported value: {}: supported values: "storage"']],
  ['has known modes', {accessModes: ['Odd']}, ['spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"']],
  ['of the whole disk is not wiped', {hostPath: {path: '/'}, persistentVolumeReclaimPolicy: 'Recycle'}, ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"]],
  ['has properties if a driver knows them', {volumeAttributesClassName: 'fast'}, ['spec.csi: Required value: has to be specified when using volumeAttributesClassName']],
];

for (const [title, spec, expected] of volumeCases) {
  test(`a volume ${title}`, async t => {
    const {of} = await startWorld();

    t.deepEqual(await problems(of(kinds.persistentVolumes).create(aVolume(spec))), expected);
  });
}

test('a local volume says where it is, and every volume stays there', async t => {
  const {of} = await startWorld();
  const {hostPath: _, ...rest} = aVolume().spec!;
  t.deepEqual(await problems(of(kinds.persistentVolumes).create({metadata: {name: 'l'}, spec: {...rest, local: {path: '/x'}}})), ['spec.nodeAffinity: Required value: Local volume requires node affinity']);

  const made = await of(kinds.persistentVolumes).create(aVolume());
  t.deepEqual(await problems(of(kinds.persistentVolumes).update({...made, spec: {...made.spec, hostPath: {path: '/other'}}})), [
    'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
  ]);
});

test('a bound claim may grow, and nothing else of a claim changes', async t => {
  const {of} = await startWorld();
  const claims = of(kinds.persistentVolumeClaims);
  const made = await claims.create(aClaim());
  const bigger = (claim: Claim): Claim => ({...claim, spec: {...claim.spec, resources: {requests: {storage: '2Gi'}}}});
  const refused = 'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
  t.is(made.status?.phase, 'Pending');
  t.deepEqual(await problems(claims.update(bigger(made))), [refused]);

  const bound = await claims.update({...(await claims.update({...made, spec: {...made.spec, volumeName: 'v'}})), status: {phase: 'Bound', capacity: {storage: '1Gi'}}}, {subresource: 'status'});
  const grown = await claims.update(bigger(bound));
  t.is(grown.spec?.resources?.requests?.['storage'], '2Gi');
  t.deepEqual(await problems(claims.update({...grown, spec: {...grown.spec, volumeName: 'w'}})), [refused]);
  t.deepEqual(await problems(claims.update({...grown, spec: {...grown.spec, resources: {requests: {storage: '1Gi'}}}})), ['spec.resources.requests.storage: Forbidden: field can not be less than status.capacity']);
});

test('both ways to name the source of a claim say the same', async t => {
  const {of} = await startWorld();
  const {spec} = await of(kinds.persistentVolumeClaims).create(aClaim({dataSource: {kind: 'PersistentVolumeClaim', name: 'old'}}));

  t.deepEqual(spec?.dataSourceRef, {kind: 'PersistentVolumeClaim', name: 'old'});
});

test('a class of storage is settled when it is made', async t => {
  const {of, row} = await startWorld();
  const made = await of(kinds.storageClasses).create({metadata: {name: 's', annotations: {'storageclass.plat.io/is-default-class': 'true'}}, provisioner: 'example.com/p'});

  t.like(await row(kinds.storageClasses, made), {Name: 's (default)', ReclaimPolicy: 'Delete', VolumeBindingMode: 'Immediate', AllowVolumeExpansion: false});
  t.deepEqual(await problems(of(kinds.storageClasses).update({...made, provisioner: 'q', reclaimPolicy: 'Retain', parameters: {a: 'b'}})), [
    'parameters: Forbidden: updates to parameters are forbidden.',
    'provisioner: Forbidden: updates to provisioner are forbidden.',
    'reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.',
  ]);
});

test('properties of volumes are there from the start, in both versions', async t => {
  const {of} = await startWorld();
  t.deepEqual(await problems(of(kinds.volumeAttributesClasses).create({metadata: {name: 'v'}, driverName: 'd'})), ['parameters: Required value: must contain at least one key/value pair']);
  await of(kinds.volumeAttributesClasses).create({metadata: {name: 'v'}, driverName: 'd', parameters: {a: 'b'}});

  t.like(await of(kinds.volumeAttributesClassesV1beta1).get('v'), {apiVersion: 'storage.plat.io/v1beta1', driverName: 'd', parameters: {a: 'b'}});
  t.is((await of(kinds.volumeAttributesClasses).get('v')).apiVersion, 'storage.plat.io/v1');
});

test('a driver says what it can, and counts the changes of what may change', async t => {
  const {of} = await startWorld({gate: () => true});
  const drivers = of(kinds.csiDrivers);
  const made = await drivers.create({metadata: {name: 'd'}, spec: {}});
  t.like(made.spec, {attachRequired: true, podInfoOnMount: false, storageCapacity: false, fsGroupPolicy: 'ReadWriteOnceWithFSType', volumeLifecycleModes: ['Persistent'], requiresRepublish: false, seLinuxMount: false});
  t.is(made.metadata?.generation, undefined);

  const changed = await drivers.update({...made, spec: {...made.spec, requiresRepublish: true}});
  t.is(changed.metadata?.generation, 1);
  t.deepEqual(await problems(drivers.update({...changed, spec: {...changed.spec, attachRequired: false}})), ['spec.attachedRequired: Invalid value: false: field is immutable']);
});

test('a node tells of each driver once', async t => {
  const {of} = await startWorld();
  const driver = {name: 'd', nodeID: 'n', topologyKeys: ['a']};

  t.deepEqual(await problems(of(kinds.csiNodes).create({metadata: {name: 'n'}, spec: {drivers: [driver, driver]}})), ['spec.drivers[1].name: Duplicate value: "d"']);
});

test('an attachment is of one volume, and stays', async t => {
  const {of} = await startWorld();
  const spec = {attacher: 'd', nodeName: 'n', source: {persistentVolumeName: 'v'}};
  t.deepEqual(await problems(of(kinds.volumeAttachments).create({metadata: {name: 'a'}, spec: {...spec, source: {}}})), ['spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName']);
  const made = await of(kinds.volumeAttachments).create({metadata: {name: 'a'}, spec});

  t.deepEqual(made.status, {attached: false});
  t.regex((await problems(of(kinds.volumeAttachments).update({...made, spec: {...spec, nodeName: 'm'}})))[0] ?? '', /^spec: Invalid value: .*: field is immutable$/);
});
