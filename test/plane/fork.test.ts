import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {caches} from '#src/base/cache-bound.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/client/client.js';
import type {Plane} from '#src/plane/inputs/embedded.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import type {Beginning} from '#src/plane/inputs/foundation.js';
import {startPlane, startPlaneOn} from '#src/plane/plane.js';
import {until} from '#src/testing/index.js';
import {clientBy} from '#test/cli/programs.js';

const namespace = 'default';
/** A plane without controllers unless options say otherwise. */
const aPlane = async (t: ExecutionContext, options: PlaneOptions = {}) => {
  const plane = await startPlane({listen: false, clock: new VirtualClock(), controllers: 'none', freeze: true, ...options});
  t.teardown(() => plane.stop());
  return plane;
};
const aFork = async (t: ExecutionContext, plane: Pick<Plane, 'fork'>, options: Parameters<Plane['fork']>[0] = {}) => {
  const fork = await plane.fork(options);
  t.teardown(() => fork.stop());
  return fork;
};
const create = (client: Client, name: string) => client.resource(kinds.configMaps).create({metadata: {name, namespace}});
const names = async (client: Client): Promise<(string | undefined)[]> =>
  (await client.resource(kinds.configMaps).list({namespace})).items
    .map(({metadata}) => metadata?.name)
    .filter(name => !name?.startsWith('kube-'));

test('a fork goes on from the resource version and the time of its plane, and neither sees what is written to the other', async t => {
  const plane = await aPlane(t);
  const before = await create(plane.client(), 'before');
  await (plane.clock as VirtualClock).advance(12_345);
  const fork = await aFork(t, plane);
  await fork.ready;

  t.deepEqual([fork.clock.now(), fork.clock.monotonic()], [plane.clock.now(), plane.clock.monotonic()]);
  const [here, there] = [await create(plane.client(), 'here'), await create(fork.client(), 'there')];
  const versionOf = ({metadata}: KubeObject) => Number(metadata?.resourceVersion);
  t.true(versionOf(here) > versionOf(before));
  t.true(versionOf(there) - versionOf(here) <= 1, 'the start of a fork writes no more than the lease of its API server');
  t.deepEqual(await names(plane.client()), ['before', 'here']);
  t.deepEqual(await names(fork.client()), ['before', 'there']);
  await (fork.clock as VirtualClock).advance(60_000);
  t.is(fork.clock.now() - plane.clock.now(), 60_000);
});

test('forks of a snapshot share the objects that they have not changed, and keep their own of those that they have', async t => {
  const plane = await aPlane(t);
  await create(plane.client(), 'a');
  using snapshot = plane.snapshot();
  const [one, other] = [await aFork(t, {fork: () => snapshot.fork()}), await aFork(t, {fork: () => snapshot.fork()})];
  const read = (from: Pick<Plane, 'client'>) => from.client().resource(kinds.configMaps).get('a', {namespace});
  const before = await read(one);

  t.is(await read(other), before);
  t.true(Object.isFrozen(before) && Object.isFrozen(before.metadata));
  await one
    .client()
    .resource(kinds.configMaps)
    .update({...before, data: {of: 'one'}});
  t.deepEqual([(await read(one)).data, (await read(other)).data, (await read(plane)).data], [{of: 'one'}, undefined, undefined]);
  await other
    .client()
    .resource(kinds.configMaps)
    .update({...before, data: {of: 'other'}});
  t.deepEqual([(await read(one)).data, (await read(other)).data], [{of: 'one'}, {of: 'other'}]);
  t.is((await read(one)).metadata!.resourceVersion, (await read(other)).metadata!.resourceVersion);
  t.is(await read(await aFork(t, {fork: () => snapshot.fork()})), before);
});

test.serial('a plane that has stopped has nothing left in the cache of objects', async t => {
  const kept = () => caches().find(({name}) => name === 'objects')!.bytes;
  const before = kept();
  const plane = await aPlane(t);
  await create(plane.client(), 'a');
  t.true(kept() > before);
  await plane.stop();

  t.true(kept() <= before);
});

test('a watch in a fork begins at a resource version from before the fork', async t => {
  const plane = await aPlane(t);
  const {metadata} = await create(plane.client(), 'a');
  await create(plane.client(), 'b');
  const fork = await aFork(t, plane);
  await create(fork.client(), 'c');
  const seen: (string | undefined)[] = [];
  const watch = fork
    .client()
    .resource(kinds.configMaps)
    .watch({namespace, resourceVersion: metadata!.resourceVersion!})
    .subscribe(({object}) => seen.push(object.metadata?.name));
  t.teardown(() => watch.unsubscribe());
  await (fork.clock as VirtualClock).drain();

  t.deepEqual(seen, ['b', 'c']);
});

test('a plane that begins as another did has its keys and the objects of its API server, but controllers of its own', async t => {
  let beginning: Beginning | undefined;
  const options = {listen: false, clock: new VirtualClock()};
  const first = await startPlaneOn({begun: each => (beginning = each)}, {...options, controllers: ['serviceaccount-controller']});
  const objects = async (plane: Plane, kind: Kind) => (await plane.client().resource(kind).list()).items.map(({metadata}) => metadata);
  const [roles, levels] = [await objects(first, kinds.clusterRoles), await objects(first, kinds.priorityLevelConfigurations)];
  t.is((await objects(first, kinds.serviceAccounts)).length, 4);
  await first.stop();
  const second = await startPlaneOn({beginning: beginning!}, {...options, clock: new VirtualClock(), controllers: 'none'});

  t.deepEqual(await objects(second, kinds.clusterRoles), roles);
  t.deepEqual(await objects(second, kinds.priorityLevelConfigurations), levels);
  t.deepEqual(await objects(second, kinds.serviceAccounts), []);
  beginning![Symbol.dispose]();
  t.true(existsSync(beginning!.temporary.path));
  await second.stop();
  t.false(existsSync(beginning!.temporary.path));
});

test('any number of planes start from a snapshot, also when its plane has stopped', async t => {
  const plane = await startPlane({listen: false, clock: new VirtualClock(), controllers: 'none'});
  await create(plane.client(), 'kept');
  using snapshot = plane.snapshot();
  await create(plane.client(), 'later');
  await plane.stop();

  for (let round = 0; round < 2; round++) {
    const fork = await aFork(t, snapshot);
    t.deepEqual(await names(fork.client()), ['kept']);
    const {metadata} = await create(fork.client(), 'new');
    const ahead = Number(metadata?.resourceVersion) - Number(snapshot.resourceVersion);
    t.true(ahead === 1 || ahead === 2, `${ahead}: versions continue from the snapshot; the fork's server may have renewed its lease first`);
    const again = await aFork(t, fork);
    t.deepEqual(await names(again.client()), ['kept', 'new'], 'a fork of a fork');
    await fork.stop();
    await again.stop();
  }
  snapshot[Symbol.dispose]();
  await t.throwsAsync(snapshot.fork(), {message: /was removed/});
});

test('a fork has a port of its own, where the credentials of its plane are valid', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-fork-'));
  t.teardown(() => rmSync(directory, {recursive: true, force: true}));
  const plane = await aPlane(t, {listen: true});
  await create(plane.client(), 'a');
  const fork = await aFork(t, plane);
  t.not(fork.url, plane.url);
  const file = join(directory, 'kubeconfig');
  // The credentials are those of the plane; only the address is the fork's.
  writeFileSync(file, plane.kubeconfig.replaceAll(plane.url, fork.url), {mode: 0o600});
  await using client = await clientBy(file, 'kubernetes');
  t.deepEqual(await names(client), ['a']);
  const silent = await aFork(t, plane, {listen: false});
  t.is(silent.url, '');
});

test('controllers of a fork continue its work, and only there', async t => {
  const plane = await aPlane(t, {controllers: ['deployment', 'replicaset', 'serviceaccount', 'nodelifecycle'], nodes: 1});
  const template = {metadata: {labels: {app: 'a'}}, spec: {containers: [{name: 'a', image: 'a'}]}};
  const deployments = plane.client().resource(kinds.deployments);
  await deployments.create({metadata: {name: 'a', namespace}, spec: {replicas: 2, selector: {matchLabels: {app: 'a'}}, template}});
  const ready = (client: Client, count: number) => async () =>
    (await client.resource(kinds.deployments).get('a', {namespace})).status?.readyReplicas === count;
  await until(plane, ready(plane.client(), 2), {within: '1m'});

  const fork = await aFork(t, plane);
  await fork
    .client()
    .resource(kinds.deployments)
    .patch('a', 'merge', {spec: {replicas: 4}}, {namespace});
  await until(fork, ready(fork.client(), 4), {within: '1m'});
  await (plane.clock as VirtualClock).advance(60_000);
  t.true(await ready(plane.client(), 2)());
});

test('a port that a service of the plane has is taken in the fork from its first request on', async t => {
  const plane = await aPlane(t);
  const aService = (name: string) => ({metadata: {name, namespace}, spec: {type: 'NodePort', ports: [{port: 80, nodePort: 30_123}]}});
  await plane.client().resource(kinds.services).create(aService('a'));
  const fork = await aFork(t, plane);

  await t.throwsAsync(fork.client().resource(kinds.services).create(aService('b')), {message: /provided port is already allocated/});
});

test('a fork draws the random numbers that its plane would have drawn', async t => {
  const plane = await aPlane(t, {random: seededRandom(5)});
  const [one, other] = [await aFork(t, plane), await aFork(t, plane)];
  const made = async ({client}: Pick<Plane, 'client'>) =>
    (
      await client()
        .resource(kinds.configMaps)
        .create({metadata: {generateName: 'a-', namespace}})
    ).metadata;
  await one.ready;
  await other.ready;
  const [first, second] = [await made(one), await made(other)];

  t.deepEqual([first?.uid, first?.name], [second?.uid, second?.name]);
});

test('a plane with a store in files has no snapshots', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-fork-'));
  t.teardown(() => rmSync(directory, {recursive: true, force: true}));
  const plane = await aPlane(t, {dataDir: directory});

  t.throws(() => plane.snapshot(), {instanceOf: TypeError, message: /in memory/});
  await t.throwsAsync(plane.fork(), {instanceOf: TypeError, message: /in memory/});
});

test('a fork that is stopped while its controllers start leaves nothing running', async t => {
  const plane = await aPlane(t, {controllers: 'all'});
  const fork = await plane.fork();
  await fork.stop();

  await t.throwsAsync(fork.ready, {message: 'the plane is stopped'});
});

test('controllers are selected by name, and a name that none has is refused before anything starts', async t => {
  await t.throwsAsync(startPlane({controllers: ['deploymnt']}), {
    message: 'startPlane: controllers: "deploymnt" is not in the list of known controllers',
  });
  await t.throwsAsync(startPlane({controllers: 'some' as never}), {message: /^startPlane: controllers must be "all", "none" or a list/});
  await t.throwsAsync(startPlane({controllers: 'none', controllerManagerArgs: ['--controllers=*']}), {message: /exclude each other/});
});
