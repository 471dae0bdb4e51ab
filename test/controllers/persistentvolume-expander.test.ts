import test, {type ExecutionContext} from 'ava';
import controller from '#controllers/persistentvolume-expander/controller.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Claim, Volume} from '#src/model/volumes.js';
import {alone} from './workloads.js';

// The scenarios of upstream's pkg/controller/volume/expand/expand_controller_test.go: TestSyncHandler; and of
// pkg/volume/util/operationexecutor/operation_generator_test.go:
// TestOperationGenerator_GenerateExpandAndRecoverVolumeFunc.
const start = (t: ExecutionContext) => alone(t, [controller]);
type Actions = Awaited<ReturnType<typeof start>>;

/** A bound claim of 1Gi, and its volume. */
const bound = async (at: Actions, spec: Partial<NonNullable<Volume['spec']>> = {}, metadata: Volume['metadata'] = {}) => {
  const {client} = at;
  await client
    .resource(kinds.storageClasses)
    .create({metadata: {name: 'gold'}, provisioner: 'plat.io/simulated', allowVolumeExpansion: true});
  const claim = await at.create(kinds.persistentVolumeClaims, {
    metadata: {name: 'c'},
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'gold',
      volumeName: 'v',
      resources: {requests: {storage: '1Gi'}},
      ...(spec.volumeMode ? {volumeMode: spec.volumeMode} : {}),
    },
  });
  await client.resource(kinds.persistentVolumes).create({
    metadata: {name: 'v', ...metadata},
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: {storage: '1Gi'},
      storageClassName: 'gold',
      flexVolume: {driver: 'plat.io/simulated'},
      claimRef: {namespace: 'default', name: 'c', uid: claim.metadata!.uid!},
      ...spec,
    },
  });
  await at.patch(kinds.persistentVolumeClaims, 'c', {status: {phase: 'Bound', capacity: {storage: '1Gi'}}}, 'status');
};
const request = (at: Actions, storage: string) => at.patch(kinds.persistentVolumeClaims, 'c', {spec: {resources: {requests: {storage}}}});
const stateOf = ({status}: Claim) => ({
  capacity: status?.capacity?.['storage'],
  allocated: status?.allocatedResources?.['storage'],
  state: status?.allocatedResourceStatuses?.['storage'],
  conditions: status?.conditions?.map(({type}) => type),
});
const claimOf = (at: Actions) => at.get(kinds.persistentVolumeClaims, 'c');
const volumeOf = (at: Actions) => at.client.resource(kinds.persistentVolumes).get('v');
const preResize = 'volume.alpha.plat.io/pre-resize-capacity';

test('a volume is expanded, and its claim once the node has expanded the file system', async t => {
  const at = await start(t);
  await bound(at);
  await request(at, '2Gi');
  const claim = await claimOf(at);
  t.deepEqual(stateOf(claim), {capacity: '1Gi', allocated: '2Gi', state: 'NodeResizePending', conditions: ['FileSystemResizePending']});
  t.is(claim.metadata?.annotations?.['volume.plat.io/storage-resizer'], 'plat.io/simulated');
  const volume = await volumeOf(at);
  t.deepEqual([volume.spec?.capacity?.['storage'], volume.metadata?.annotations?.[preResize]], ['2Gi', '1Gi']);
  t.deepEqual(await at.eventsOn('c'), ['Normal FileSystemResizeRequired Require file system resize of volume on node']);

  await at.patch(kinds.persistentVolumeClaims, 'c', {status: {capacity: {storage: '2Gi'}}}, 'status');
  t.is((await volumeOf(at)).metadata?.annotations?.[preResize], undefined);
});

test('a block device has no file system to expand', async t => {
  const at = await start(t);
  await bound(at, {volumeMode: 'Block'});
  await request(at, '2Gi');
  t.deepEqual(stateOf(await claimOf(at)), {capacity: '2Gi', allocated: '2Gi', state: undefined, conditions: undefined});
  t.deepEqual(await at.eventsOn('c'), ['Normal VolumeResizeSuccessful ExpandVolume succeeded for volume default/c']);
});

const others: readonly [title: string, spec: object, metadata: object, event: string][] = [
  [
    'of a CSI driver',
    {flexVolume: undefined, csi: {driver: 'disk.example.com', volumeHandle: 'h'}},
    {},
    'Normal ExternalExpanding waiting for an external controller to expand this PVC',
  ],
  [
    'of a driver that is not known',
    {flexVolume: {driver: 'example.com/disk'}},
    {},
    'Warning ExternalExpanding waiting for an external controller to expand this PVC',
  ],
  [
    'that a CSI driver has taken over',
    {},
    {annotations: {'pv.plat.io/migrated-to': 'disk.example.com'}},
    'Normal ExternalExpanding CSI migration enabled for disk.example.com; waiting for external resizer to expand the pvc',
  ],
];
for (const [title, spec, metadata, event] of others)
  test(`a volume ${title} is left to an external controller`, async t => {
    const at = await start(t);
    await bound(at, spec, metadata);
    await request(at, '2Gi');
    t.deepEqual(await at.eventsOn('c'), [event]);
    t.deepEqual(stateOf(await claimOf(at)), {capacity: '1Gi', allocated: undefined, state: undefined, conditions: undefined});
    const resizer = (await claimOf(at)).metadata?.annotations?.['volume.plat.io/storage-resizer'];
    t.is(resizer, title.includes('taken over') ? 'disk.example.com' : undefined);
  });

test('a claim without a volume is not expanded, and no error', async t => {
  const at = await start(t);
  const spec = {accessModes: ['ReadWriteOnce'], storageClassName: 'gold', resources: {requests: {storage: '2Gi'}}};
  await at.create(kinds.persistentVolumeClaims, {metadata: {name: 'c'}, spec});
  await at.patch(kinds.persistentVolumeClaims, 'c', {status: {phase: 'Pending'}}, 'status');
  t.deepEqual([await at.eventsOn('c'), at.lines.filter(line => line.includes('failed'))], [[], []]);
});

test('an expansion that fails stays in progress and is repeated', async t => {
  const at = await start(t);
  await bound(at, {flexVolume: {driver: 'plat.io/simulated', options: {expandError: 'the pool is full'}}});
  await request(at, '2Gi');
  t.like(stateOf(await claimOf(at)), {capacity: '1Gi', allocated: '2Gi', state: 'ControllerResizeInProgress'});
  t.is(
    (await at.eventsOn('c'))[0],
    'Warning VolumeResizeFailed error expanding volume "default/c" of plugin "plat.io/simulated": the pool is full',
  );
});

test('an earlier larger target is reached first, as it may have been in part', async t => {
  const at = await start(t);
  await bound(at, {volumeMode: 'Block'});
  await at.patch(
    kinds.persistentVolumeClaims,
    'c',
    {status: {allocatedResources: {storage: '5Gi'}, allocatedResourceStatuses: {storage: 'ControllerResizeInProgress'}}},
    'status',
  );
  await request(at, '2Gi');
  t.like(stateOf(await claimOf(at)), {capacity: '5Gi', state: undefined});
  t.is((await volumeOf(at)).spec?.capacity?.['storage'], '5Gi');
});

test('after an expansion that is infeasible a smaller one can be requested', async t => {
  const at = await start(t);
  const options = {expandError: 'too large', expandInfeasible: 'true'};
  await bound(at, {volumeMode: 'Block', flexVolume: {driver: 'plat.io/simulated', options}});
  await request(at, '5Gi');
  t.like(stateOf(await claimOf(at)), {capacity: '1Gi', allocated: '5Gi', state: 'ControllerResizeInfeasible'});
  const events = (await at.eventsOn('c')).length;
  await at.clock.advance(240_000);
  t.is((await at.eventsOn('c')).length, events);

  await request(at, '2Gi');
  await at.clock.advance(301_000);
  t.like(stateOf(await claimOf(at)), {allocated: '2Gi', state: 'ControllerResizeInfeasible'});
});

test('a volume that is bound to another claim is not expanded', async t => {
  const at = await start(t);
  await bound(at, {claimRef: {namespace: 'default', name: 'c', uid: 'other'}});
  await request(at, '2Gi');
  t.deepEqual(stateOf(await claimOf(at)), {capacity: '1Gi', allocated: undefined, state: undefined, conditions: undefined});
  t.true(at.lines.some(line => line.includes('reconciling failed')));
});
