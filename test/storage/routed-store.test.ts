import test from 'ava';
import {compactRegularly} from '#src/apiserver/registry/compaction.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {RoutedStore} from '#src/storage/routed-store.js';
import type {Change, Continuity, Store} from '#src/storage/store.js';

const value = Buffer.from('{}');

/** A store whose data can be said to be replaced. */
const replaceable = (clock: VirtualClock) => {
  const listeners = new Set<() => void>();
  const store = memoryStore({clock});
  const continuity: Continuity = {
    problem: undefined,
    onReplaced(listener) {
      listeners.add(listener);
      return {[Symbol.dispose]: () => void listeners.delete(listener)};
    },
  };
  const proxy = new Proxy(store, {
    get(target, name: keyof Store) {
      if (name === 'continuity') return continuity;
      const member = target[name] as unknown;
      return typeof member === 'function' ? (member as (...args: unknown[]) => unknown).bind(target) : member;
    },
  });
  return {store: proxy, replace: () => listeners.forEach(listener => listener())};
};

const routed = () => {
  const clock = new VirtualClock();
  const rest = replaceable(clock);
  const events = replaceable(clock);
  return {clock, rest, events, store: new RoutedStore(rest.store, [{prefixes: ['/r/events/'], store: events.store}])};
};

test('keys below a prefix are in the store of its route, at revisions of its own', async t => {
  const {store, rest, events} = routed();
  for (const name of ['a', 'b', 'c']) await store.create(`/r/pods/${name}`, value);
  const revision = await store.create('/r/events/a', value);
  const seen: Change[] = [];
  using _ = store.watch(
    {start: '/r/events/', end: '/r/events0', after: revision},
    {changes: batch => void seen.push(...batch), ended() {}},
  );
  await store.update('/r/events/a', value, revision);

  t.is(await events.store.count('/r/', '/r0'), 1);
  t.is(await rest.store.count('/r/', '/r0'), 3);
  t.is(await store.revision('/r/events/'), revision + 1);
  t.is(await store.revision(), await rest.store.revision());
  t.is((await store.range({start: '/r/events/', end: '/r/events0'})).revision, revision + 1);
  t.deepEqual(
    seen.map(({key}) => key),
    ['/r/events/a'],
  );
});

test('a lease is granted by the store of the key that is written under it', async t => {
  const {store, clock} = routed();
  const lease = await store.lease(10, '/r/events/');
  await store.create('/r/events/a', value, {lease});
  await clock.advance(20_000);

  t.is(await store.get('/r/events/a'), undefined);
});

test('every store is compacted at revisions of its own', async t => {
  const {store, clock, rest, events} = routed();
  const ending = new AbortController();
  compactRegularly({store, clock, log: noLog, intervalMs: 1000}, ending.signal);
  for (const name of ['a', 'b', 'c']) await store.create(`/r/pods/${name}`, value);
  await store.create('/r/events/a', value);
  const [ofRest, ofEvents] = [await rest.store.revision(), await events.store.revision()];
  await clock.advance(1000);
  await store.create('/r/pods/d', value);
  await store.create('/r/events/b', value);
  await clock.advance(1000);

  t.is(await rest.store.compacted(), ofRest);
  t.is(await events.store.compacted(), ofEvents);
  ending.abort();
});

test('watchers of a key learn of the replacement of the store that holds it, others of any', t => {
  const {store, rest, events} = routed();
  const heard: string[] = [];
  using _ofEvents = store.continuity!.onReplaced(() => void heard.push('events'), '/r/events/');
  using _ofPods = store.continuity!.onReplaced(() => void heard.push('pods'), '/r/pods/');
  using _ofAll = store.continuity!.onReplaced(() => void heard.push('all'));
  events.replace();
  rest.replace();

  t.deepEqual(heard, ['events', 'all', 'pods', 'all']);
});
