import {rmSync} from 'node:fs';
import test from 'ava';
import {open as openTree} from 'lmdb';
import {makeFolder} from '#src/base/files/folder.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {closeNow, mapDefaults, MappedTree, residentFileBytes, type MapOptions} from '#src/storage/embedded/mapped-tree.js';
import {treeSettings, Writes, type Tree} from '#src/storage/embedded/writes.js';
import {Follower} from './follower.js';
import {fresh, root} from './embedded-stores.js';

test.after.always(() => rmSync(root, {recursive: true, force: true}));

const mb = 1 << 20;
const limits = {maxBytes: 8 * mb, restBytes: 2 * mb, restMs: 60_000};

/** A tree of which the test says how much is mapped, which is nothing once it was opened anew. */
const mappedTree = () => {
  const path = fresh();
  makeFolder(path);
  const clock = new VirtualClock();
  const state = {mappedMb: 0, opened: 0, isReopenable: true};
  const open = (): Tree => openTree({path, ...treeSettings});
  const reopen = (): Tree => {
    state.opened++;
    return open();
  };
  const mapped = new MappedTree(open(), {
    ...limits,
    clock,
    open: reopen,
    isReopenable: () => state.isReopenable,
    resident: () => (50 + state.mappedMb) * mb,
  });
  const put = (key: string, value: string) => {
    const writes = new Writes(path);
    writes.put(key, Buffer.from(value));
    return mapped.write(tree => writes.durable(tree));
  };
  const get = (key: string): string => String(mapped.now.getBinary(key));
  return {clock, state, mapped, put, get};
};

test('a tree of which much is mapped is opened anew, with all that it holds', async t => {
  const {clock, state, mapped, put, get} = mappedTree();
  await put('\u0002a', 'one');
  state.mappedMb = 8;
  await clock.advance(10_000);
  t.deepEqual([state.opened, mapped.bytes, mapped.maxBytes], [0, 8 * mb, 8 * mb]);

  state.mappedMb = 9;
  const looking = clock.advance(2000);
  t.is(get('\u0002a'), 'one');
  await looking;

  t.is(state.opened, 1);
  t.is(get('\u0002a'), 'one');
  await put('\u0002a', 'two');
  t.is(get('\u0002a'), 'two');
  await mapped.close();
});

test('what remains mapped after a burst is given back a minute later', async t => {
  const {clock, state, mapped} = mappedTree();
  state.mappedMb = 3;
  await clock.advance(58_000);
  t.is(state.opened, 0);
  await clock.advance(2000);

  t.is(state.opened, 1);
  await mapped.close();
});

test('a tree stays open during a write, and is opened anew right after it', async t => {
  const {clock, state, mapped} = mappedTree();
  state.mappedMb = 9;
  let finish = (): void => undefined;
  const writing = mapped.write(() => new Promise<void>(resolve => (finish = resolve)));
  await clock.advance(30_000);
  t.is(state.opened, 0);
  finish();
  await writing;

  t.is(state.opened, 1);
  await mapped.close();
});

test('a tree whose files were replaced or removed stays open', async t => {
  const {clock, state, mapped, put, get} = mappedTree();
  await put('\u0002a', 'one');
  state.isReopenable = false;
  state.mappedMb = 9;
  await clock.advance(60_000);

  t.deepEqual([state.opened, get('\u0002a')], [0, 'one']);
  await mapped.close();
});

test('a closed tree is not opened anew', async t => {
  const {clock, state, mapped} = mappedTree();
  state.mappedMb = 9;
  await mapped.close();
  await clock.advance(60_000);

  t.is(state.opened, 0);
});

/** Reports ever more memory, so that each look opens the tree anew. */
const ever = (): MapOptions => {
  let bytes = 0;
  return {resident: () => (bytes += 2 * mapDefaults.maxBytes)};
};

const storeWith = async (map: MapOptions, directory = fresh()) => {
  const clock = new VirtualClock();
  return {clock, directory, store: await openEmbeddedStore({directory, naming: 'plat', clock, map})};
};

test('a store that is opened anew all the time loses no write, and its watch no event', async t => {
  const {clock, store} = await storeWith(ever());
  using follower = new Follower(store, {after: await store.revision()});
  const writes: Promise<number>[] = [];
  for (let round = 1; round <= 20; round++) {
    for (let index = 0; index < 10; index++) writes.push(store.create(`/k/${round}-${index}`, Buffer.alloc(2000, `${index}`)));
    await clock.advance(2000);
    await Promise.all(writes);
    t.is((await store.range({start: '/k/', end: '/k0'})).records.length, 10 * round);
  }
  const revisions = await Promise.all(writes);
  await follower.until(({received}) => received.length === revisions.length);

  t.deepEqual(
    follower.received.map(({revision}) => revision),
    revisions,
  );
  await store.close();
});

test('a process that claimed the data file while it was closed ends the writes of this one, not its reads', async t => {
  const directory = fresh();
  let looks = 0;
  const resident = (): number => {
    // The third look is the one right after the tree was closed.
    if (++looks === 3) claimFor(directory, process.ppid);
    return looks === 2 ? 2 * mapDefaults.maxBytes : 0;
  };
  const {clock, store} = await storeWith({resident}, directory);
  await store.create('/k', Buffer.from('v'));
  await clock.advance(2000);

  t.is(String((await store.get('/k'))?.value), 'v');
  await t.throwsAsync(async () => store.create('/l', Buffer.from('v')), {message: /another process has claimed the data directory/});
  await store.close();
});

/** Makes another process the owner of a data file that is closed. */
const claimFor = (path: string, pid: number): void => {
  const tree: Tree = openTree({path, ...treeSettings});
  tree.putSync('\u0001owner', Buffer.from(String(pid)));
  closeNow(tree);
};

const isLinux = process.platform === 'linux';

(isLinux ? test : test.skip)('pages that were read leave the memory of the process', async t => {
  const {clock, store} = await storeWith({maxBytes: 8 * mb});
  const value = Buffer.alloc(100_000, 'v');
  for (let round = 0; round < 8; round++)
    await Promise.all(Array.from({length: 50}, (_, index) => store.create(`/k/${round}-${index}`, value)));
  t.is((await store.range({start: '/k/', end: '/k0'})).records.length, 400);
  const before = residentFileBytes()!;
  await clock.advance(2000);
  const after = residentFileBytes()!;

  t.true(before - after > 30 * mb, `${before >> 20} and ${after >> 20} MB`);
  t.is((await store.get('/k/7-49'))?.value.length, value.length);
  await store.close();
});
