import test, {type ExecutionContext} from 'ava';
import {kindOnWire, kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {Frozen} from '#src/api/key.js';
import type {ConfigMap, KubeObject} from '#src/api/types.js';
import {noLog, type Log} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {InformerFactory} from '#informers/factory.js';
import type {Shape} from '#informers/selection.js';
import {startServer} from '#test/fixtures/server.js';
import {recordingLog} from '#test/runtime/environment.js';

const manufacturing = (t: ExecutionContext, log: Log = noLog) => {
  const {clock, clientOf} = startServer();
  const life = new AbortController();
  t.teardown(() => life.abort());
  const client = clientOf();
  const factory = new InformerFactory({
    client,
    clock,
    random: seededRandom(1),
    log,
    meter: new MetricsRegistry(),
    minResyncMs: 0,
    signal: life.signal,
    freeze: true,
  });
  const create = (namespace: string, name: string): Promise<KubeObject> =>
    client.resource(kinds.configMaps).create({metadata: {namespace, name, finalizers: ['x.io/y']}, data: {k: 'v'}});
  return {clock, client, life, factory, create};
};

test('a factory shares one informer a selection', async t => {
  const {life, factory, create} = manufacturing(t);
  await create('x', 'one');
  await create('y', 'two');

  const all = factory.informer(kinds.configMaps);
  const some = factory.informer({kind: kinds.configMaps, namespace: 'x'});
  factory.start();
  await factory.whenSynced();
  const named = factory.informer({kind: kinds.configMaps, fieldSelector: () => 'metadata.name=two'});
  await named.whenSynced(life.signal);

  t.is(factory.informer({kind: kinds.configMaps}), all);
  t.is(factory.informer({kind: kinds.configMaps, namespace: 'x'}), some);
  t.deepEqual(
    [all, some, named].map(({lister}) => lister.list().map(({metadata}) => metadata?.name)),
    [['one', 'two'], ['one'], ['two']],
  );
});

test('the informers of a user start with it, also those requested later, while those of others wait', async t => {
  const {clock, factory, create} = manufacturing(t);
  await create('x', 'one');
  const [early, late] = [factory.scope(), factory.scope()];
  const maps = early.informer(kinds.configMaps);
  const shared = late.informer({kind: kinds.configMaps, namespace: 'x'});
  const waiting = late.informer(kinds.secrets);

  early.start();
  const later = early.informer(kinds.services);
  t.is(early.informer({kind: kinds.configMaps, namespace: 'x'}), shared);
  await clock.drain();
  t.deepEqual(
    [maps, later, shared, waiting].map(({isSynced}) => isSynced),
    [true, true, true, false],
  );

  late.start();
  await clock.drain();
  t.true(waiting.isSynced);
});

test('what is borrowed runs, also while the user waits that requested all of the kind', async t => {
  const {clock, factory, create} = manufacturing(t);
  await create('x', 'one');
  const whole = factory.scope().informer(kinds.configMaps);

  const borrowed = factory.borrowMetadata(foundMaps);
  await clock.drain();

  t.is(borrowed.informer as unknown, whole);
  t.is(whole.lister.size, 1);
});

/** Config maps as a client gets them from discovery alone. */
const foundMaps = kindOnWire(naming('plat'), {group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true});

test('borrowed metadata is kept as of its kind, without content, and followed until the last borrower gave it back', async t => {
  const {clock, client, factory, create} = manufacturing(t);
  await create('x', 'one');
  const resting = clock.pending;

  const first = factory.borrowMetadata(foundMaps);
  const second = factory.borrowMetadata(foundMaps);
  await clock.drain();
  const two = await create('x', 'two');
  await clock.drain();

  t.is(second.informer, first.informer);
  const {managedFields: _, ...metadata} = two.metadata!;
  t.deepEqual(first.informer.lister.get('x/two'), {apiVersion: 'v1', kind: 'ConfigMap', metadata});
  t.is(first.informer.lister.size, 2);

  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await client.resource(kinds.configMaps).patch('one', 'merge', {metadata: {finalizers: null, labels: {a: 'b'}}}, {namespace: 'x'});
  await clock.drain();
  t.deepEqual(second.informer.lister.get('x/one')?.metadata?.labels, {a: 'b'});

  second[Symbol.dispose]();
  await clock.advance(1000); // The store reports progress to its watchers a moment after a write.
  t.is(clock.pending, resting);
  const again = factory.borrowMetadata(foundMaps);
  t.not(again.informer, first.informer);
});

test('metadata of a kind that is followed as a whole is borrowed from there', async t => {
  const {clock, factory, create} = manufacturing(t);
  await create('x', 'one');
  const whole = factory.informer(kinds.configMaps);
  factory.start();
  await clock.drain();

  const borrowed = factory.borrowMetadata(foundMaps);
  t.is(borrowed.informer as unknown, whole);
  borrowed[Symbol.dispose]();
  await create('x', 'two');
  await clock.drain();

  t.is(whole.lister.size, 2);
});

test('a cache that keeps a part of each object is one of its own, and holds their metadata for borrowers', async t => {
  const {clock, factory, create} = manufacturing(t);
  await create('x', 'one');
  const held: number[] = [];
  const shape: Shape<ConfigMap> = {
    name: 'names',
    of({metadata}, count) {
      held.push(count);
      return {metadata} as Frozen<ConfigMap>;
    },
  };
  const reduced = factory.informer({kind: kinds.configMaps, shape});
  factory.start();
  await clock.drain();
  await create('x', 'two');
  await clock.drain();

  t.is(factory.informer({kind: kinds.configMaps, shape}), reduced);
  t.not(factory.informer(kinds.configMaps), reduced);
  t.deepEqual(held, [0, 1]);
  t.deepEqual(Object.keys(reduced.lister.get('x/two')!), ['metadata']);
  t.is(factory.borrowMetadata(foundMaps).informer as unknown, reduced);
});

test('a user of the metadata of a kind is notified when it is not served, and that is no fault', async t => {
  const {log, lines} = recordingLog();
  const {clock, factory} = manufacturing(t, log);
  const unknown = kindOnWire(naming('plat'), {group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true});
  const received: string[] = [];
  const one = factory.borrowMetadata(unknown, () => received.push('one'));
  factory.borrowMetadata(unknown, () => received.push('two'));
  await clock.drain();
  t.deepEqual(received, ['one', 'two']);

  one[Symbol.dispose]();
  await clock.advance(2_000);
  t.deepEqual(received, ['one', 'two', 'two']);
  t.deepEqual(
    lines.filter(line => !line.startsWith('info')),
    [],
  );
});

test('borrowed informers end with their factory', async t => {
  const {clock, life, factory} = manufacturing(t);
  const resting = clock.pending;
  factory.borrowMetadata(foundMaps);
  await clock.drain();
  t.true(clock.pending > resting);

  life.abort();
  await clock.drain();

  t.is(clock.pending, resting);
});
