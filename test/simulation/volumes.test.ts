import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {PodSpec} from '#src/api/pod.js';
import {parseYaml} from '#src/schema/decode/yaml.js';
import {aPlane} from '#test/controllers/plane.js';
import {root} from '#test/sources.js';
import {describePod, eventsOf, podNamed, type NodesPlane} from './environment.js';

const controllers = [
  'serviceaccount-controller',
  'node-lifecycle-controller',
  'statefulset-controller',
  'persistentvolume-attach-detach-controller',
  'persistentvolume-binder-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
];

const aPlaneWithVolumes = async (t: ExecutionContext, rules?: string): Promise<NodesPlane> => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-volumes-'));
  t.teardown(() => rmSync(folder, {recursive: true, force: true}));
  if (rules) writeFileSync(join(folder, 'rules.yaml'), rules);
  return aPlane({nodes: 2, controllers, ...(rules ? {simulationFile: join(folder, 'rules.yaml')} : {})});
};

const namespace = 'default';
const container = {name: 'app', image: 'nginx'};
const withClaim: PodSpec = {
  containers: [{...container, volumeMounts: [{name: 'data', mountPath: '/data'}]}],
  volumes: [{name: 'data', persistentVolumeClaim: {claimName: 'c'}}],
};
const claim = (spec: object = {}, name = 'c') => ({
  metadata: {name, namespace},
  spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, ...spec},
});
const run = (plane: NodesPlane, spec: PodSpec = withClaim, name = 'pod') =>
  plane.client().resource(kinds.pods).create({metadata: {name, namespace}, spec});
const claimed = async (plane: NodesPlane, name = 'c') => {
  const {spec, status} = await plane.client().resource(kinds.persistentVolumeClaims).get(name, {namespace});
  return `${status?.phase} ${status?.capacity?.['storage'] ?? '-'} ${spec?.storageClassName}`;
};

test('a stateful set with claims runs, each pod with a volume of its own, and the volumes are deleted with their claims', async t => {
  await using plane = await aPlaneWithVolumes(t);
  const client = plane.client();
  await client.resource(kinds.statefulSets).create({
    metadata: {name: 'db', namespace},
    spec: {
      replicas: 2,
      serviceName: 'db',
      selector: {matchLabels: {app: 'db'}},
      template: {
        metadata: {labels: {app: 'db'}},
        spec: {containers: [{...container, volumeMounts: [{name: 'data', mountPath: '/data'}]}]},
      },
      volumeClaimTemplates: [{...claim(), metadata: {name: 'data'}}],
      persistentVolumeClaimRetentionPolicy: {whenScaled: 'Delete', whenDeleted: 'Retain'},
    },
  });
  await plane.clock.advance(60_000);
  const volumes = async () => (await client.resource(kinds.persistentVolumes).list()).items;

  t.is(describePod(await podNamed(plane, 'db-1')), 'Running: app ready');
  t.is(await claimed(plane, 'data-db-0'), 'Bound 1Gi standard');
  t.deepEqual(
    (await volumes()).map(({spec, status}) => [spec?.csi?.driver, status?.phase]),
    [
      ['csi.simulation.plat.io', 'Bound'],
      ['csi.simulation.plat.io', 'Bound'],
    ],
  );

  await client.resource(kinds.statefulSets).delete('db', {namespace});
  for (const name of ['db-0', 'db-1']) await client.resource(kinds.pods).delete(name, {namespace});
  for (const name of ['data-db-0', 'data-db-1']) await client.resource(kinds.persistentVolumeClaims).delete(name, {namespace});
  await plane.clock.advance(60_000);
  t.deepEqual(await volumes(), []);
});

test('the stateful set of the manifests runs', async t => {
  await using plane = await aPlaneWithVolumes(t);
  const {value} = parseYaml(readFileSync(join(root, 'manifests/control-plane/statefulset.yaml'), 'utf8'));
  const set = value as ObjectOf<typeof kinds.statefulSets>;
  await plane
    .client()
    .resource(kinds.statefulSets)
    .create({...set, metadata: {...set.metadata, namespace}});
  await plane.clock.advance(60_000);

  t.is(describePod(await podNamed(plane, 'plat-0')), 'Running: plat ready');
});

test('each step of a volume takes the time of its rule', async t => {
  await using plane = await aPlaneWithVolumes(t, 'volumes:\n- {match: {claims: c}, provisionAfter: 10s, mountAfter: 20s}\n');
  await plane.client().resource(kinds.persistentVolumeClaims).create(claim());
  await plane.clock.advance(20_000);
  t.is(await claimed(plane), 'Pending - standard'); // Nobody uses it yet.
  await run(plane);
  await plane.clock.advance(9_000);
  t.is(await claimed(plane), 'Pending - standard');
  await plane.clock.advance(10_000);
  t.is(await claimed(plane), 'Bound 1Gi standard');
  t.is(describePod(await podNamed(plane)), 'Pending: app ContainerCreating');
  await plane.clock.advance(20_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
});

test('a provisioning that fails by rule is reported on the claim, and its pod waits', async t => {
  await using plane = await aPlaneWithVolumes(t, 'volumes:\n- {match: {classes: standard}, provisionError: pool is full}\n');
  await plane.client().resource(kinds.persistentVolumeClaims).create(claim());
  await run(plane);
  await plane.clock.advance(30_000);

  t.true(
    (await eventsOf(plane, 'c')).includes(
      'ProvisioningFailed: failed to provision volume with StorageClass "standard": rpc error: code = Internal desc = pool is full',
    ),
  );
  t.is((await podNamed(plane)).spec?.nodeName, undefined);
});

test('a mount that fails by rule is reported on the pod, which does not start', async t => {
  await using plane = await aPlaneWithVolumes(t, 'volumes:\n- {mountError: no such device}\n');
  await plane.client().resource(kinds.persistentVolumeClaims).create(claim());
  await run(plane);
  await plane.clock.advance(180_000);
  const {spec} = await plane.client().resource(kinds.persistentVolumeClaims).get('c', {namespace});
  const events = await eventsOf(plane, 'pod');

  t.is(describePod(await podNamed(plane)), 'Pending: app ContainerCreating');
  t.true(
    events.includes(
      `FailedMount: MountVolume.SetUp failed for volume "${spec?.volumeName}" : rpc error: code = Internal desc = no such device`,
    ),
  );
  // That the mount takes long is no event of its own.
  t.deepEqual(
    events.filter(event => event.includes('Unable to attach or mount volumes')),
    [],
  );
});

test('a pod that was bound to its node by hand waits until its claim exists and is bound', async t => {
  await using plane = await aPlaneWithVolumes(t);
  const client = plane.client();
  const volumes = ['data', 'b'].map(name => ({name, persistentVolumeClaim: {claimName: name === 'data' ? 'c' : name}}));
  await run(plane, {...withClaim, volumes, nodeName: 'plat-node-0'});
  await plane.clock.advance(2_000);
  const missing = (name: string) =>
    `error processing PVC default/${name}: failed to fetch PVC from API server: persistentvolumeclaims "${name}" not found`;
  const failures = async () => (await eventsOf(plane, 'pod')).filter(event => event.startsWith('FailedMount'));
  t.deepEqual(await failures(), [
    `FailedMount: Unable to attach or mount volumes: unmounted volumes=[b data], unattached volumes=[], failed to process volumes=[b data]: ${missing('b')}; ${missing('c')}`,
  ]);
  await client.resource(kinds.persistentVolumes).create({
    metadata: {name: 'w'},
    spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/b'}},
  });
  await client.resource(kinds.persistentVolumeClaims).create(claim({storageClassName: ''}, 'b'));
  await plane.clock.advance(15_000);
  t.deepEqual((await failures()).slice(1), [
    `FailedMount: Unable to attach or mount volumes: unmounted volumes=[b data], unattached volumes=[], failed to process volumes=[b data]: error processing PVC default/b: PVC is not bound; ${missing('c')}`,
  ]);
  await client.resource(kinds.persistentVolumes).create({
    metadata: {name: 'v'},
    spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/data'}},
  });
  await client.resource(kinds.persistentVolumeClaims).create(claim({storageClassName: ''}));
  await plane.clock.advance(30_000);

  t.is(describePod(await podNamed(plane)), 'Running: app ready');
});

test('a claim grows, and its volume with it', async t => {
  await using plane = await aPlaneWithVolumes(t, 'volumes:\n- {match: {claims: bad}, expandError: too large}\n- {expandAfter: 5s}\n');
  const claims = plane.client().resource(kinds.persistentVolumeClaims);
  const names = ['c', 'bad'];
  for (const name of names) {
    await claims.create(claim({}, name));
    await run(plane, {...withClaim, volumes: [{name: 'data', persistentVolumeClaim: {claimName: name}}]}, `pod-${name}`);
  }
  await plane.clock.advance(30_000);
  for (const name of names) await claims.patch(name, 'merge', {spec: {resources: {requests: {storage: '2Gi'}}}}, {namespace});
  await plane.clock.advance(2_000);
  const growing = await claims.get('c', {namespace});
  t.like(growing.status, {capacity: {storage: '1Gi'}, allocatedResourceStatuses: {storage: 'ControllerResizeInProgress'}});
  await plane.clock.advance(30_000);
  const grown = await claims.get('c', {namespace});

  t.is(await claimed(plane), 'Bound 2Gi standard');
  t.deepEqual([grown.status?.allocatedResources, grown.status?.conditions], [undefined, undefined]);
  t.is((await plane.client().resource(kinds.persistentVolumes).get(grown.spec!.volumeName!)).spec?.capacity?.['storage'], '2Gi');
  t.is(await claimed(plane, 'bad'), 'Bound 1Gi standard');
  t.true((await eventsOf(plane, 'bad')).some(event => event.startsWith('VolumeResizeFailed: resize volume "pvc-')));
});

test('nodes announce the driver, with the most volumes of their rule, and without nodes there is none', async t => {
  await using plane = await aPlaneWithVolumes(t, 'nodes:\n- {names: "*-1", maxVolumes: 3}\n');
  const drivers = async (name: string) => (await plane.client().resource(kinds.csiNodes).get(name)).spec.drivers;
  t.deepEqual(await drivers('plat-node-0'), [{name: 'csi.simulation.plat.io', nodeID: 'plat-node-0', topologyKeys: ['plat.io/hostname']}]);
  t.deepEqual((await drivers('plat-node-1'))[0]?.allocatable, {count: 3});

  await using bare = await aPlane({controllers: ['serviceaccount-controller']});
  t.deepEqual((await bare.client().resource(kinds.storageClasses).list()).items, []);
  t.deepEqual((await bare.client().resource(kinds.csiDrivers).list()).items, []);
});
