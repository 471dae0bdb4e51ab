import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {StorageVersionMigration} from '#src/api/kinds/storagemigration.js';
import type {KubeObject} from '#src/api/types.js';
import {wire} from '#test/apiserver/wire.js';
import {aPlane} from './plane.js';

const definitions = '/apis/apiextensions.plat.io/v1/customresourcedefinitions';
const merge = {headers: {'content-type': 'application/merge-patch+json'}};

const migrating = async () => {
  const gates = '--feature-gates=StorageVersionMigrator=true';
  const plane = await aPlane({
    controllers: ['storage-version-migrator-controller'],
    apiserverArgs: [gates, '--runtime-config=storagemigration.plat.io/v1beta1=true'],
    controllerManagerArgs: [gates],
  });
  const migrations = plane.client().resource(kinds.storageVersionMigrations);
  return {
    plane,
    ...wire(plane.api.handler),
    /** Creates a migration, and returns its result. */
    async migrate(resource: string, group = 'example.com'): Promise<StorageVersionMigration> {
      await migrations.create({metadata: {name: resource}, spec: {resource: {group, resource}}});
      await plane.clock.advance(300_000);
      return migrations.get(resource);
    },
    [Symbol.asyncDispose]: () => plane.stop(),
  };
};

const conditionsOf = ({status}: StorageVersionMigration) =>
  (status?.conditions ?? []).map(({type, status: is, reason, message}) => [type, is, reason, message]);

const versions = (stored: string) =>
  ['v1', 'v2'].map(name => ({
    name,
    served: true,
    storage: name === stored,
    schema: {openAPIV3Schema: {type: 'object', properties: {size: {type: 'integer'}}}},
  }));

test('objects of a custom resource are written again in the version that is stored, but for those written since', async t => {
  await using env = await migrating();
  const {plane, post, patch, get} = env;
  await post(definitions, {
    metadata: {name: 'widgets.example.com'},
    spec: {group: 'example.com', scope: 'Namespaced', names: {plural: 'widgets', kind: 'Widget'}, versions: versions('v1')},
  });
  await plane.clock.drain();
  const widgets = '/apis/example.com/v1/namespaces/default/widgets';
  for (const name of ['a', 'b'])
    t.is((await post(widgets, {apiVersion: 'example.com/v1', kind: 'Widget', metadata: {name}, size: 1})).status, 201);
  await patch(`${definitions}/widgets.example.com`, {spec: {versions: versions('v2')}}, merge);
  await plane.clock.drain();
  t.is(
    (
      await post('/apis/example.com/v2/namespaces/default/widgets', {
        apiVersion: 'example.com/v2',
        kind: 'Widget',
        metadata: {name: 'c'},
        size: 1,
      })
    ).status,
    201,
  );
  const revisions = async () => (await get(widgets)).json<{items: KubeObject[]}>().items.map(({metadata}) => metadata!.resourceVersion);
  const before = await revisions();

  const done = await env.migrate('widgets');
  t.deepEqual(conditionsOf(done), [
    ['Running', 'False', 'StorageVersionMigrationInProgress', ''],
    ['Succeeded', 'True', 'StorageVersionMigrationSucceeded', ''],
  ]);
  const after = await revisions();
  t.deepEqual(
    before.map((revision, index) => revision === after[index]),
    [false, false, true],
  );
  const stored = (
    await plane.api.server.registry.settings.store.range({start: '/registry/example.com/widgets/', end: '/registry/example.com/widgets0'})
  ).records;
  t.true(stored.every(({value}) => value.includes('"apiVersion":"example.com/v2"')));
  t.is(
    (await get(`${widgets}/a`)).json<{metadata: {managedFields: object[]}}>().metadata.managedFields.length,
    1,
    'the migration owns no fields',
  );
  t.is((await patch(`${definitions}/widgets.example.com/status`, {status: {storedVersions: ['v2']}}, merge)).status, 200);
});

test('a migration of a missing resource fails after a while, and one of a resource without write fails at once', async t => {
  await using env = await migrating();
  t.deepEqual(conditionsOf(await env.migrate('gadgets')), [
    ['Failed', 'True', 'StorageVersionMigrationFailed', 'resource does not exist in discovery'],
  ]);
  t.deepEqual(conditionsOf(await env.migrate('bindings', '')), [
    [
      'Failed',
      'True',
      'StorageVersionMigrationFailed',
      'resource "/v1, Resource=bindings" does not support discovery operations: [update patch list]',
    ],
  ]);
});

test('built-in resources are migrated as well, to no effect', async t => {
  await using env = await migrating();
  const before = (await env.get('/api/v1/namespaces')).json<{items: KubeObject[]}>().items.map(({metadata}) => metadata!.resourceVersion);
  t.deepEqual(
    conditionsOf(await env.migrate('namespaces', ''))
      .at(-1)
      ?.slice(0, 2),
    ['Succeeded', 'True'],
  );
  t.deepEqual(
    (await env.get('/api/v1/namespaces')).json<{items: KubeObject[]}>().items.map(({metadata}) => metadata!.resourceVersion),
    before,
  );
});
