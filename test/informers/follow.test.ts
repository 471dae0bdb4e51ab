import test, {type ExecutionContext} from 'ava';
import {Subject} from 'rxjs';
import {kinds} from '#src/api/kinds/index.js';
import {expired, serviceUnavailable, timeout} from '#src/api/status.js';
import type {ConfigMap} from '#src/api/types.js';
import {seededRandom} from '#src/base/random.js';
import {follow} from '#informers/follow.js';
import type {Followed, FollowOptions} from '#informers/following.js';
import {StreamFault} from '#informers/stream-fault.js';
import {neverSilentFor} from '#informers/timing.js';
import {listerWatcher} from '#informers/lister-watcher.js';
import {resolveSelection} from '#informers/selection.js';
import {startServer} from '#test/fixtures/server.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {ListOptions, WatchOptions} from '#src/client/client.js';
import {UnreadableEvent} from '#src/client/errors.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {FaultyApi} from './faults.js';

const second = 1000;
const minute = 60 * second;

/** A followed collection of config maps on a real server, with its events, failures and waits. */
const following = async (t: ExecutionContext, options: Partial<FollowOptions> = {}) => {
  const {clock, clientOf} = startServer();
  const client = clientOf();
  const maps = client.resource(kinds.configMaps);
  const api = new FaultyApi<ConfigMap>(listerWatcher(client, resolveSelection(kinds.configMaps, client.naming)));
  const reported: Followed<ConfigMap>[] = [];
  const failures: {error: unknown; waitMs: number; at: number}[] = [];
  const start = async () => {
    const subscription = follow(api, {
      clock,
      random: seededRandom(7),
      onError: (error, waitMs) => failures.push({error, waitMs, at: clock.monotonic()}),
      ...options,
    }).subscribe(event => reported.push(event));
    t.teardown(() => subscription.unsubscribe());
    await clock.drain();
    return subscription;
  };
  const create = async (name: string) => {
    await maps.create({metadata: {namespace: 'default', name}});
    await clock.drain();
  };
  const seen = () =>
    reported
      .map(event =>
        event.type === 'listed'
          ? `listed ${event.items.map(item => item.metadata?.name).join()}`
          : `${event.type} ${event.object.metadata?.name ?? ''}`,
      )
      .filter(text => !text.startsWith('BOOKMARK'));
  return {clock, maps, api, failures, start, create, seen};
};

test('lists once, then receives every change', async t => {
  const {api, create, start, seen, maps, clock} = await following(t);
  await create('a');

  await start();
  await create('b');
  await maps.delete('a', {namespace: 'default'});
  await clock.drain();

  t.deepEqual(seen(), ['listed a', 'ADDED b', 'DELETED a']);
  t.deepEqual(api.calls, ['list rv=0 limit=500', 'watch']);
});

test('reads a long list page by page, each continued from the one before, and delivers it whole', async t => {
  const {api, create, start, seen, clock} = await following(t, {pageSize: 2});
  for (const name of ['a', 'b', 'c', 'd', 'e']) await create(name);

  await start();
  t.deepEqual(api.calls, ['list rv=0 limit=2', 'watch'], 'version 0 is answered whole, from the watch cache');
  await clock.advance(5 * second);
  api.watchFaults.push(expired('too old resource version'));
  api.calls.length = 0;
  api.disconnect();
  await clock.advance(20 * second);

  t.regex(api.calls[1]!, /^list rv=\d+ limit=2$/);
  t.deepEqual(api.calls.slice(2), ['list rv= limit=2 continued', 'list rv= limit=2 continued', 'watch']);
  t.deepEqual(seen(), ['listed a,b,c,d,e', 'listed a,b,c,d,e']);
});

test('goes on where it was when a watch is closed, without a list', async t => {
  const {api, create, start, seen, clock} = await following(t);
  await start();
  await clock.advance(5 * second);

  api.disconnect();
  await create('a');
  await clock.drain();

  t.deepEqual(seen(), ['listed ', 'ADDED a']);
  t.deepEqual(api.calls, ['list rv=0 limit=500', 'watch', 'watch']);
});

test('loses nothing that happened while the server was away', async t => {
  const {api, create, start, seen, clock} = await following(t);
  await start();
  api.watchFaults.push(new Error('connection refused'), new Error('connection refused'));
  await clock.advance(5 * second);

  api.disconnect();
  await create('a');
  await clock.advance(10 * second);

  t.deepEqual(seen(), ['listed ', 'ADDED a']);
});

test('lists again after an event that cannot be read, since the next watch would send the same', async t => {
  const {api, create, start, seen, clock} = await following(t);
  await start();
  api.watchFaults.push(new UnreadableEvent());
  api.cut();
  await clock.advance(2 * second);
  await create('a');
  await clock.advance(4 * second);

  t.deepEqual(
    api.calls.map(call => call.split(' ')[0]),
    ['list', 'watch', 'watch', 'list', 'watch'],
  );
  t.true(seen().some(event => event.includes('a')));
});

test('lists again when history is gone, not older than the last version seen, and the newest if that is gone too', async t => {
  const {api, create, start, seen, clock} = await following(t);
  await create('a');
  await start();
  api.watchFaults.push(expired('too old resource version'));
  api.listFaults.push(expired('The provided continue parameter is too old'));
  await clock.advance(5 * second);

  api.disconnect();
  await clock.advance(20 * second);

  t.deepEqual(seen(), ['listed a', 'listed a']);
  t.regex(api.calls[3]!, /^list rv=\d+ limit=500$/);
  t.is(api.calls[4], 'list rv= limit=');
});

test('lists the newest version when the server is behind the last one seen', async t => {
  const {api, start, clock} = await following(t);
  await start();
  await clock.advance(5 * second);
  api.watchFaults.push(
    timeout('Too large resource version: 9, current: 1', 1, [{reason: 'ResourceVersionTooLarge', message: 'Too large resource version'}]),
  );

  api.disconnect();
  await clock.advance(5 * second);

  t.is(api.calls[3], 'list rv= limit=');
});

test('survives a server that starts again over the same store, and one that lost its store', async t => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  let env = startServer({clock, store});
  const collection = () => listerWatcher(env.clientOf(), resolveSelection(kinds.configMaps, env.clientOf().naming));
  const reported: string[] = [];
  const api = {list: (options: ListOptions) => collection().list(options), watch: (options: WatchOptions) => collection().watch(options)};
  const subscription = follow<ConfigMap>(api, {clock, random: seededRandom(1)}).subscribe(event => {
    if (event.type === 'listed') reported.push(`listed ${event.items.length}`);
    else if (event.type !== 'BOOKMARK') reported.push(`${event.type} ${event.object.metadata?.name ?? ''}`);
  });
  t.teardown(() => subscription.unsubscribe());
  const create = async (name: string) => {
    await clock.advance(minute);
    await env
      .clientOf()
      .resource(kinds.configMaps)
      .create({metadata: {namespace: 'default', name}});
    await clock.advance(minute);
  };
  const replaceBy = (next: typeof env) => {
    const {server} = env;
    env = next;
    server.endWatches();
  };
  await create('a');

  replaceBy(startServer({clock, store}));
  await create('b');
  t.deepEqual(reported, ['listed 0', 'ADDED a', 'ADDED b']);
  replaceBy(startServer({clock}));
  await create('c');

  t.deepEqual(reported, ['listed 0', 'ADDED a', 'ADDED b', 'listed 0', 'ADDED c']);
});

test('counts a watch that ends at once as a failure, so that it does not spin', async t => {
  const {api, start, clock, failures} = await following(t);
  for (let time = 0; time < 20; time++) api.watchFaults.push('close');

  await start();
  await clock.advance(10 * second);

  t.true(api.calls.length < 12, `${api.calls.length} calls`);
  t.true(failures.every(({error}) => error instanceof StreamFault && error.fault === 'short'));
});

test('leaves a connection that has gone silent and misses nothing', async t => {
  const {api, create, start, seen, clock, failures} = await following(t, {silenceMs: 4 * minute});
  await start();

  api.goSilent();
  await create('a');
  await clock.advance(3 * minute);
  t.deepEqual(seen(), ['listed ']);
  await clock.advance(2 * minute);

  t.deepEqual(seen(), ['listed ', 'ADDED a']);
  t.true(failures[0]?.error instanceof StreamFault && failures[0].error.fault === 'silent');
  t.is(api.open, 1);
});

test('connections that are cut again and again leave the cache a few seconds old at most', async t => {
  const {api, start, clock, failures} = await following(t);
  const random = seededRandom(3);
  await start();
  let oldest = 0;
  for (const end = clock.monotonic() + 60 * minute; clock.monotonic() < end;) {
    await clock.advance((20 + 90 * random.float()) * second);
    api.cut();
    const since = clock.monotonic();
    while (api.open === 0) await clock.advance(100);
    oldest = Math.max(oldest, clock.monotonic() - since);
  }

  t.true(failures.length > 30);
  t.true(oldest <= 300, `${oldest}`);
});

test('after many quick cuts without an event the cache is right within five seconds, while a server that refuses is asked ever more rarely', async t => {
  const {api, create, start, seen, clock, failures} = await following(t);
  await start();
  for (let time = 0; time < 60; time++) {
    await clock.advance(300);
    if (api.open > 0) api.cut();
    else await clock.advance(1_000);
  }
  await create('a');
  const since = clock.monotonic();
  while (!seen().includes('ADDED a')) await clock.advance(100);

  t.true(failures.length > 10);
  t.true(clock.monotonic() - since <= 5 * second, `${clock.monotonic() - since}`);
  t.true(Math.max(...failures.map(({waitMs}) => waitMs)) <= 4 * second);
});

test('an event or a bookmark on a watch resets the backoff, and failures alone do not', async t => {
  const {api, create, start, clock, failures} = await following(t);
  api.watchFaults.push(...Array.from({length: 4}, () => new Error('connection refused')));
  await start();
  await clock.advance(minute);
  await create('a');
  api.cut();
  await clock.advance(2 * second);
  api.report({type: 'BOOKMARK', object: {metadata: {resourceVersion: '99'}}});
  api.cut();
  await clock.advance(2 * second);

  t.deepEqual(
    failures.map(({waitMs}, index) => {
      const base = [800, 1_600, 2_000, 2_000, 100, 800][index]!;
      return waitMs >= base && waitMs <= 2 * base;
    }),
    [true, true, true, true, true, true],
    failures.map(({waitMs}) => waitMs).join(),
  );
});

test('lists the newest version when a bookmark is older than the last one seen, as after the restore of a store', async t => {
  const {api, create, start, seen, clock, failures} = await following(t);
  await start();
  await create('a');
  api.report({type: 'BOOKMARK', object: {metadata: {resourceVersion: '1'}}});
  await clock.advance(5 * second);

  t.true(failures[0]?.error instanceof StreamFault && failures[0].error.fault === 'rewound');
  t.deepEqual(seen(), ['listed ', 'ADDED a', 'listed a']);
  t.deepEqual(api.calls.slice(-2), ['list rv= limit=', 'watch']);
});

test('a watch without keep-alive probes is short, ends on time without a failure, and counts as dead when its end is late', async t => {
  const {api, create, start, seen, clock, failures} = await following(t);
  api.probed = false;
  await start();
  await clock.advance(10 * minute);
  t.deepEqual(failures, []);
  t.true(api.timeouts.every(seconds => seconds >= 20 && seconds <= 30));
  t.true(api.calls.length > 20);

  api.goSilent();
  await create('a');
  const since = clock.monotonic();
  while (!seen().includes('ADDED a')) await clock.advance(second);

  t.true(clock.monotonic() - since <= 37 * second, `${clock.monotonic() - since}`);
  t.deepEqual(
    failures.map(({error}) => (error as StreamFault).fault),
    ['silent'],
  );
});

test('a bookmark a minute keeps a quiet watch alive', async t => {
  const {api, start, clock, failures} = await following(t, {silenceMs: 4 * minute});
  await start();

  for (let time = 0; time < 9; time++) {
    await clock.advance(minute);
    api.report({type: 'BOOKMARK', object: {metadata: {resourceVersion: '1'}}});
  }

  t.deepEqual(failures, []);
});

test('cancels a list that does not answer and tries again', async t => {
  const {api, start, seen, clock, failures} = await following(t, {pageMs: minute});
  api.listFaults.push('hang');

  await start();
  await clock.advance(2 * minute);

  t.true(failures[0]?.error instanceof StreamFault && failures[0].error.fault === 'slow');
  t.deepEqual(seen(), ['listed ']);
});

test('waits longer with each failing list, and never gives up', async t => {
  const {api, start, seen, clock, failures} = await following(t);
  for (let time = 0; time < 30; time++) api.listFaults.push(serviceUnavailable('starting'));

  await start();
  await clock.advance(60 * minute);

  t.is(failures.length, 30);
  t.deepEqual(seen(), ['listed ']);
  for (const [index, {waitMs}] of failures.entries()) {
    const base = Math.min(30 * second, 800 * 2 ** index);
    t.true(waitMs >= base && waitMs <= 2 * base, `wait ${index}: ${waitMs}`);
  }
});

test('nothing is left behind after unsubscribing', async t => {
  const {api, start, clock} = await following(t);
  const subscription = await start();

  subscription.unsubscribe();
  await clock.drain();

  t.is(api.open, 0);
});

test('one timer watches over the silence of all streams, and each fails for its own', async t => {
  const clock = new VirtualClock();
  const failed: string[] = [];
  const [busy, silent, short] = [new Subject<number>(), new Subject<number>(), new Subject<number>()];
  for (const [name, source] of [
    ['busy', busy],
    ['silent', silent],
    ['short', short],
  ] as const) {
    source
      .pipe(neverSilentFor(clock, 1000, () => new Error(name)))
      .subscribe({error: (error: Error) => failed.push(`${error.message} ${clock.monotonic()}`)});
  }
  t.is(clock.pending, 1);
  await clock.advance(600);
  busy.next(1);
  short.complete();
  await clock.advance(399);
  t.deepEqual(failed, []);
  await clock.advance(1);
  t.deepEqual(failed, ['silent 1000']);
  await clock.advance(1000);

  t.deepEqual(failed, ['silent 1000', 'busy 1600']);
  t.is(clock.pending, 0);
});
