import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {listAndWatchKind, listAndWatchRecords} from '#src/apiserver/registry/read/list-watch.js';
import {Compacted} from '#src/storage/errors.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {startCustom, widgets} from './custom.js';
import {aConfigMap, configMaps, startWire} from './wire.js';

/** A server over a store whose watches can be broken. */
const breakable = () => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  const open = new Set<() => void>();
  const watch = store.watch.bind(store);
  store.watch = (query, watcher) => {
    const handle = watch(query, watcher);
    const end = () => {
      handle[Symbol.dispose]();
      watcher.ended(new Compacted(7));
    };
    open.add(end);
    return handle;
  };
  /** Ends all watches as a store does whose history is gone. */
  const lose = () => {
    const ended = [...open];
    open.clear();
    for (const end of ended) end();
  };
  return {clock, store, lose};
};

const start = async () => {
  const broken = breakable();
  return {...(await startWire(broken)), ...broken, following: new AbortController()};
};

test('followers of a kind get the changes made while the history of the store was lost', async t => {
  const {
    server: {registry},
    clock,
    following,
    lose,
    post,
    put,
    remove,
  } = await start();
  const received: string[] = [];
  for (const name of ['stays', 'changes', 'goes']) await post(configMaps, aConfigMap(name));
  await listAndWatchKind(
    registry,
    kinds.configMaps,
    ({metadata}, gone) => void received.push(`${metadata!.namespace}/${metadata!.name}${gone ? ' gone' : ''}`),
    following.signal,
  );
  received.length = 0;

  await clock.advance(10_000);
  const changes = (async () => {
    await put(`${configMaps}/changes`, aConfigMap('changes', {data: {k: 'new'}}));
    await remove(`${configMaps}/goes`);
    await post(configMaps, aConfigMap('comes'));
  })();
  lose();
  await changes;
  await clock.advance(10_000);
  t.deepEqual(new Set(received), new Set(['default/changes', 'default/goes gone', 'default/comes']));

  received.length = 0;
  await post(configMaps, aConfigMap('later'));
  t.deepEqual(received, ['default/later']);
  following.abort();
  await post(configMaps, aConfigMap('last'));
  t.deepEqual(received, ['default/later']);
});

test('an error of a follower is reported, and the next change is delivered', async t => {
  const {
    server: {registry},
    clock,
    following,
    post,
  } = await start();
  const received: string[] = [];
  const failing = ({metadata}: {metadata?: {name?: string}}) => {
    received.push(metadata!.name!);
    if (metadata!.name === 'bad') throw new Error('not this one');
  };
  await listAndWatchKind(registry, kinds.configMaps, failing, following.signal);
  for (const name of ['one', 'bad', 'two']) await post(configMaps, aConfigMap(name));

  t.deepEqual(received, ['one', 'bad', 'two']);
  await t.throwsAsync(clock.drain(), {message: 'not this one'});
});

test('custom resources are served from definitions that were read after the history of the store was lost', async t => {
  const {clock, store, lose} = breakable();
  using env = await startCustom({clock, store});
  await clock.advance(10_000);
  lose();
  await clock.advance(120_000);
  await env.define();

  t.is((await env.get(widgets)).status, 200);
});

test('a write is acknowledged when the followers of its kind have handled it', async t => {
  const {server, post, remove, following} = await start();
  const waiting: (() => void)[] = [];
  await listAndWatchRecords(
    server.registry.of(kinds.configMaps),
    {handle: () => new Promise<void>(resolve => void waiting.push(resolve))},
    following.signal,
  );
  const acknowledged: string[] = [];
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) await yieldToEventLoop();
  };

  const made = post(configMaps, aConfigMap('a')).then(() => acknowledged.push('created'));
  await turns();
  const removed = remove(`${configMaps}/a`).then(() => acknowledged.push('deleted'));
  await turns();
  t.deepEqual([waiting.length, acknowledged], [1, []]);
  waiting[0]!();
  await made;
  await turns();
  t.deepEqual([waiting.length, acknowledged], [2, ['created']]);
  waiting[1]!();
  await removed;
  t.deepEqual(acknowledged, ['created', 'deleted']);
  following.abort();
});
