// Objects as they were at a moment.

import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {UserInfo} from '#src/api/user.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/operator/client/client.js';
import type {ObjectsAt} from '#src/recorder/records.js';
import {aPlane} from '#test/controllers/plane.js';

const admin: UserInfo = {name: 'admin', groups: ['system:masters', 'system:authenticated']};
const started = aPlane({naming: 'kubernetes', controllers: ['-*']});
test.after.always(async () => (await started).stop());

const get = async (path: string): Promise<ObjectsAt> =>
  (await (await started).api.clientAs(admin).request('GET', `/recorder/v1${path}`)) as ObjectsAt;

test('objects are read as they were at a time or a revision', async t => {
  const plane = await started;
  const client = plane.client();
  const before = await client.create(kinds.configMaps, {metadata: {namespace: 'default', name: 'past'}, data: {is: 'old'}});
  const time = new Date(plane.clock.now()).toISOString();
  await plane.clock.advance(1000);
  await client.update(kinds.configMaps, {...before, data: {is: 'new'}});
  const at = async (query: string) => (await get(`/objects?resource=configmaps&namespace=default&name=past${query}`)).objects;

  t.deepEqual(await at(`&at=${time}`), [before]);
  t.deepEqual(await at(`&at=${before.metadata.resourceVersion}`), [before]);
  t.like((await at(''))![0], {data: {is: 'new'}});
  await client.delete(kinds.configMaps, {namespace: 'default', name: 'past'});
  t.deepEqual(await at(''), []);
});

test('what has not changed since the recorder began is as it is now, from its creation on', async t => {
  const clock = new VirtualClock();
  const plane = await aPlane({naming: 'kubernetes', controllers: ['-*'], clock});
  t.teardown(() => plane.stop());
  const made = clock.now();
  const labels = {app: 'old'};
  for (const [name, label] of [
    ['kept', labels],
    ['other', {}],
    ['changed', labels],
  ] as const)
    await plane.client().create(kinds.secrets, {
      // It is no time of the object.
      metadata: {namespace: 'default', name, labels: label, annotations: {creationTimestamp: '2001-01-01T00:00:00Z'}},
      stringData: {p: 'swordfish'},
    });
  await clock.advance(60_000);
  using state = plane.state();
  const fork = await state.start({clock: new VirtualClock(clock.now())});
  t.teardown(() => fork.stop());
  const changed = await fork.client().get(kinds.secrets, {namespace: 'default', name: 'changed'});
  await fork.client().update(kinds.secrets, {...changed!, type: changed!.type!, metadata: {...changed!.metadata, labels: {app: 'new'}}});
  const at = async (ms: number, more = ''): Promise<ObjectsAt> =>
    (await fork.api
      .clientAs(admin)
      .request('GET', `/recorder/v1/objects?resource=secrets&namespace=default&at=${new Date(ms).toISOString()}${more}`)) as ObjectsAt;
  const names = ({objects}: ObjectsAt) => objects!.map(each => (each as {metadata: {name: string}}).metadata.name);

  t.deepEqual(names(await at(made - 1000)), []);
  t.deepEqual(names(await at(made + 1000)), ['changed', 'kept', 'other']);
  t.deepEqual(names(await at(made + 1000, '&labelSelector=app%3Dold')), ['changed', 'kept']);
  t.deepEqual(names(await at(made + 90_000, '&labelSelector=app%3Dold&name=kept')), ['kept']);
  t.false(JSON.stringify(await at(made + 1000)).includes(Buffer.from('swordfish').toString('base64')));
  t.deepEqual(names(await at(made + 1000, '&fieldSelector=metadata.name%3Dother')), ['other']);
});

test('objects of a moment are shown in the columns of their resource, with their ages then', async t => {
  const plane = await started;
  const client = plane.client();
  const group = 'shown.test.io';
  const schema = {type: 'object', properties: {spec: {type: 'object', properties: {size: {type: 'integer'}}}}};
  await client.create(kinds.customResourceDefinitions, {
    metadata: {name: `boxes.${group}`},
    spec: {
      group,
      scope: 'Namespaced',
      names: {plural: 'boxes', kind: 'Box'},
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {openAPIV3Schema: schema},
          additionalPrinterColumns: [
            {name: 'Size', type: 'integer', jsonPath: '.spec.size'},
            {name: 'By', type: 'string', jsonPath: '.metadata.managedFields[0].operation'},
          ],
        },
      ],
    },
  });
  await plane.clock.advance(1000);
  const box = {apiVersion: `${group}/v1`, kind: 'Box', metadata: {namespace: 'default', name: 'small'}, spec: {size: 3}};
  const path = `/apis/${group}/v1/namespaces/default/boxes`;
  await plane.api.clientAs(admin).request('POST', path, {body: JSON.stringify(box)} as never);
  const made = plane.clock.now();
  await plane.clock.advance(600_000);
  await plane.api.clientAs(admin).request('DELETE', `${path}/small`);

  const {table, objects} = await get(`/objects?group=${group}&resource=boxes&table=true&at=${new Date(made + 42_000).toISOString()}`);
  const {columnDefinitions, rows} = table as {columnDefinitions: {name: string}[]; rows: {cells: unknown[]}[]};

  t.is(objects, undefined);
  t.deepEqual(
    columnDefinitions.map(({name}) => name),
    ['Name', 'Size', 'By'],
  );
  t.deepEqual(
    rows.map(({cells}) => cells),
    [['small', 3, 'Update']],
  );
  const {table: pods} = await get('/objects?resource=namespaces&name=default&table=true');
  t.like(pods, {columnDefinitions: [{name: 'Name'}, {name: 'Status'}, {name: 'Age'}], rows: [{cells: ['default', 'Active']}]});
  await t.throwsAsync(get('/objects?group=none.io&resource=nothing&table=true'), {message: /there is no resource "nothing"/});
});

test('rows of built-in kinds have no owners of fields, which no column shows, whether they come from a record or from the store', async t => {
  const clock = new VirtualClock();
  const plane = await aPlane({naming: 'kubernetes', controllers: ['-*'], clock});
  t.teardown(() => plane.stop());
  const create = (client: Client, name: string) =>
    client.create(kinds.configMaps, {metadata: {namespace: 'default', name}, data: {a: name.repeat(name === 'long' ? 50_000 : 1)}});
  await create(plane.client(), 'stored');
  await create(plane.client(), 'long');
  using state = plane.state();
  const fork = await state.start({clock: new VirtualClock(clock.now())});
  t.teardown(() => fork.stop());
  const recorded = await create(fork.client(), 'recorded');
  t.truthy(recorded.metadata.managedFields);
  const path = '/recorder/v1/objects?resource=configmaps&namespace=default';
  const read = async (query: string) => (await fork.api.clientAs(admin).request('GET', `${path}${query}`)) as ObjectsAt;

  const {rows} = (await read('&table=true')).table as {rows: {object: {metadata: object & {name: string}}}[]};
  t.deepEqual(
    rows.map(({object: {metadata}}) => [metadata.name, 'managedFields' in metadata]),
    [
      ['long', false],
      ['recorded', false],
      ['stored', false],
    ],
  );
  t.true((await read('')).objects!.every(each => 'managedFields' in (each as {metadata: object}).metadata));
});
