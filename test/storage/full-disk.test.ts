import {rmSync} from 'node:fs';
import test, {type ExecutionContext} from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {StoreFull} from '#src/storage/errors.js';
import type {Store} from '#src/storage/store.js';
import {startTogether} from '#test/plane/lockstep.js';
import {wire} from '#test/apiserver/wire.js';
import {Follower} from './follower.js';
import {StoreProcess} from './processes.js';
import {collecting, smallDisk} from './small-disk.js';
import {bytes} from './store-environment.js';

/** Creates records until one is refused. Returns those that were acknowledged. */
const fill = async (t: ExecutionContext, store: Store): Promise<string[]> => {
  const acknowledged: string[] = [];
  for (let index = 0; ; index++) {
    try {
      await store.create(`/k/${index}`, bytes('x'.repeat(20_000)));
      acknowledged.push(`/k/${index}`);
    } catch (error) {
      t.true(error instanceof StoreFull, String(error));
      return acknowledged;
    }
  }
};

test('a full disk fails writes, loses none that was acknowledged, and leaves reads; space lets writes go on', async t => {
  const disk = smallDisk(t, 16);
  if (!disk) return;
  const {directory, ballast} = disk;
  const messages: string[] = [];
  const clock = new VirtualClock();
  const store = await openEmbeddedStore({directory, naming: 'plat', clock, log: collecting(messages)});
  using follower = new Follower(store, {after: 1});
  const acknowledged = await fill(t, store);
  const refused = await Promise.allSettled(
    Array.from({length: 20}, (_, index) => store.create(`/more/${index}`, bytes('y'.repeat(20_000)))),
  );

  t.true(acknowledged.length > 5);
  t.deepEqual(
    refused.filter(({status}) => status === 'fulfilled'),
    [],
  );
  t.deepEqual((await store.range({start: '/', end: '0'})).records.map(({key}) => key).sort(), [...acknowledged].sort());
  t.regex((await store.writeProblem!())!, /^the store cannot write: no space is left for its data in .+\/store$/);
  t.deepEqual(messages, ['no space is left for the data directory: writes fail until there is some']);

  rmSync(ballast);
  t.is(await store.writeProblem!(), undefined);
  await store.create('/after', bytes('z'));
  t.is(messages.length, 2);
  await follower.until(({received}) => received.length === acknowledged.length + 1);
  await store.close();
  const again = await openEmbeddedStore({directory, naming: 'plat', clock});
  t.is(await again.count('/', '0'), acknowledged.length + 1);
  await again.close();
});

test('writes that go on while the disk is full do not reach the native library, which a failed write can end', async t => {
  const disk = smallDisk(t, 8);
  if (!disk) return;
  const process = new StoreProcess('persist', disk.directory);
  t.teardown(() => process.kill());
  await process.end();

  const [opened, counts] = process.lines;
  t.is(opened, 'open');
  t.like(Object.keys(JSON.parse(counts!) as object).sort(), ['StoreFull', 'written']);
  t.is(process.errors, '');
});

test('a server whose disk is full answers 507 to writes, serves reads, and is not ready until there is space', async t => {
  const disk = smallDisk(t, 24);
  if (!disk) return;
  const {directory, ballast} = disk;
  const clock = new VirtualClock();
  const store = await openEmbeddedStore({directory, naming: 'kubernetes', clock});
  const [api] = await startTogether({store, clock, count: 1, args: [], reported() {}});
  t.teardown(async () => {
    await api!.close();
    await store.close();
  });
  const {get, send} = wire(api!.handler);
  const url = '/api/v1/namespaces/default/configmaps';
  const create = (name: string) => send('POST', url, {body: {metadata: {name}, data: {text: 'x'.repeat(100_000)}}});
  let last = await create('c-0');
  for (let index = 1; last.status === 201; index++) last = await create(`c-${index}`);

  t.is(last.status, 507);
  t.like(last.json() as object, {
    kind: 'Status',
    reason: 'InsufficientStorage',
    message: 'the store cannot write: no space is left for its data',
    details: {retryAfterSeconds: 10},
  });
  t.is(last.header('retry-after'), '10');
  t.is((await get(`${url}/c-0`)).status, 200);
  t.is((await get('/readyz')).status, 500);
  t.is((await get('/livez')).status, 200);
  rmSync(ballast);
  t.is((await get('/readyz')).status, 200);
  t.is((await create('after')).status, 201);
});
