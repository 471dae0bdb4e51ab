import {createHash} from 'node:crypto';
import {spawnSync} from 'node:child_process';
import {cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';
import {open as openTree} from 'lmdb';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {ShrinkOptions} from '#src/storage/embedded/shrink.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {tables, type LayoutKey} from '#src/storage/embedded/layout.js';
import {treeSettings} from '#src/storage/embedded/writes.js';
import type {Store} from '#src/storage/store.js';
import {fresh, open, root} from './embedded-stores.js';
import {collecting, smallDisk} from './small-disk.js';

test.after.always(() => rmSync(root, {recursive: true, force: true}));

const value = (index: number): Buffer => Buffer.alloc(1000 + (index % 50) * 150, String(index));

/** Makes a store most of which was deleted and compacted, with history, leases and records of several sizes left. */
const mostlyFree = async (directory: string): Promise<void> => {
  const store = await open(directory);
  const lease = await store.lease(3600);
  const revisions = await Promise.all(Array.from({length: 300}, (_, index) => store.create(`/k/${index}`, value(index))));
  await Promise.all(revisions.slice(20).map((revision, index) => store.delete(`/k/${index + 20}`, revision)));
  await store.compact(await store.revision());
  await store.create('/leased', value(1), {lease});
  await store.update('/k/3', value(30), revisions[3]!);
  await store.delete('/k/4', revisions[4]!);
  await store.close();
};

const fromBytes = 256 << 10;

const restarted = (directory: string, shrink: ShrinkOptions = {}, messages: string[] = []): Promise<Store> =>
  openEmbeddedStore({directory, naming: 'plat', clock: new VirtualClock(), log: collecting(messages), shrink: {fromBytes, ...shrink}});

const size = (directory: string): number => statSync(join(directory, 'data.mdb')).size;

/** A hash of all that a store holds: records, revisions, leases and history; not of the process that had it last. */
const content = async (directory: string): Promise<string> => {
  const tree = openTree<Buffer, LayoutKey>({path: directory, ...treeSettings});
  const hash = createHash('sha256');
  for (const {key, value: bytes} of tree.getRange({start: tables.meta, end: 2 ** 48 - 1}))
    if (!String(key).endsWith('owner')) hash.update(`${typeof key} ${key} ${bytes.length} `).update(bytes);
  await tree.close();
  return hash.digest('hex');
};

const compacted = 'the data file was compacted at the start';
const notCompacted = 'the data file could not be compacted: the store starts with it as it is';

test('a start makes a data file small again that is mostly free, and all that it holds stays the same', async t => {
  const directory = fresh();
  await mostlyFree(directory);
  const [before, held] = [size(directory), await content(directory)];
  const messages: string[] = [];

  const store = await restarted(directory, {}, messages);

  t.true(before > fromBytes, String(before));
  t.true(size(directory) < before / 2, `${size(directory)} of ${before}`);
  t.deepEqual(messages, [compacted]);
  t.deepEqual(readdirSync(directory).sort(), ['data.mdb', 'lock.mdb', 'owner.json', 'store.json']);
  for (const file of readdirSync(directory)) t.is(statSync(join(directory, file)).mode & 0o777, 0o600, file);
  await store.close();
  t.is(await content(directory), held);
});

test('a store whose file was compacted is written to and is found again', async t => {
  const directory = fresh();
  await mostlyFree(directory);
  const store = await restarted(directory);
  const revision = await store.revision();
  const created = await Promise.all(Array.from({length: 200}, (_, index) => store.create(`/new/${index}`, value(index))));
  await store.close();

  const again = await restarted(directory);

  t.is(created.at(-1), revision + 200);
  t.is(await again.count('/', '0'), 220);
  t.deepEqual((await again.get('/new/7'))?.value, value(7));
  await again.close();
});

test('a data file that is small, or less than half free, is left as it is', async t => {
  const directory = fresh();
  await mostlyFree(directory);
  const full = fresh();
  const filled = await open(full);
  await Promise.all(Array.from({length: 300}, (_, index) => filled.create(`/k/${index}`, value(index))));
  await filled.close();
  const messages: string[] = [];

  for (const [each, shrink] of [
    [directory, {fromBytes: 64 << 20}],
    [full, {}],
  ] as const) {
    const before = statSync(join(each, 'data.mdb'));
    await (await restarted(each, shrink, messages)).close();
    t.is(statSync(join(each, 'data.mdb')).ino, before.ino);
  }

  t.deepEqual(messages, []);
});

test('a process that is killed at any step leaves a store that is complete, and the next start goes on', async t => {
  const directory = fresh();
  await mostlyFree(directory);
  const held = await content(directory);
  const killed: string[] = [];
  const snapshot = (): void => {
    const copy = fresh();
    cpSync(directory, copy, {recursive: true});
    killed.push(copy);
  };
  const rename = (from: string, to: string): void => {
    snapshot();
    renameSync(from, to);
    snapshot();
  };

  await (await restarted(directory, {rename})).close();

  t.is(killed.length, 4);
  for (const [step, each] of killed.entries()) {
    rmSync(join(each, 'owner.json'), {force: true});
    await (await restarted(each)).close();
    t.is(await content(each), held, `step ${step}`);
    t.true(size(each) < fromBytes, `step ${step}`);
    t.false(existsSync(join(each, 'compact')), `step ${step}`);
  }
});

test('another process finds the store in use at each step, and afterwards', async t => {
  const directory = fresh();
  await mostlyFree(directory);
  const program = fileURLToPath(new URL('child.js', import.meta.url));
  const found: string[] = [];
  const look = (): void =>
    void found.push(spawnSync(process.execPath, [program, 'open', directory, 'plat'], {encoding: 'utf8'}).stdout.trim());
  const rename = (from: string, to: string): void => {
    if (found.length === 0) look();
    renameSync(from, to);
    look();
  };

  const store = await restarted(directory, {rename});
  look();

  const inUse = `the store in ${directory} is in use by process ${process.pid}`;
  t.deepEqual(
    found.map(line => line.slice(0, inUse.length)),
    [inUse, inUse, inUse, inUse],
  );
  await store.create('/after', value(1));
  await store.close();
});

test('a copy that an earlier process left is removed, also where nothing is to be compacted', async t => {
  const directory = fresh();
  await (await open(directory)).close();
  mkdirSync(join(directory, 'compact'));
  writeFileSync(join(directory, 'compact', 'data.mdb'), 'half a copy');

  await (await restarted(directory)).close();

  t.false(existsSync(join(directory, 'compact')));
});

test('a store starts with its old file where no copy can be made or put in its place', async t => {
  const directory = fresh();
  await mostlyFree(directory);
  const elsewhere = fresh();
  await mostlyFree(elsewhere);
  const target = join(elsewhere, '..', 'moved');
  renameSync(join(elsewhere, 'data.mdb'), target);
  symlinkSync(target, join(elsewhere, 'data.mdb'));
  const messages: string[] = [];
  const rename = (): void => {
    throw new Error('device busy');
  };

  for (const each of [directory, elsewhere]) {
    const store = await restarted(each, {rename}, messages);
    await store.create('/after', value(1));
    await store.delete('/after', await store.revision());
    t.true(size(each) > fromBytes);
    t.false(existsSync(join(each, 'compact')));
    await store.close();
    const again = await open(each);
    t.is(await again.count('/', '0'), 20);
    await again.close();
  }

  t.deepEqual(messages, [notCompacted, notCompacted]);
});

test('a start that fails between the two files is refused in one line, and the next one has everything', async t => {
  const directory = fresh();
  await mostlyFree(directory);
  const held = await content(directory);
  const rename = (from: string, to: string): void => {
    if (to.endsWith('data.mdb')) throw new Error('device busy');
    renameSync(from, to);
  };

  await t.throwsAsync(restarted(directory, {rename}), {
    message: `--data-dir: cannot keep a store in ${directory}: cannot put a compact copy in the place of data.mdb: device busy`,
  });

  t.false(existsSync(join(directory, 'owner.json')));
  await (await restarted(directory)).close();
  t.is(await content(directory), held);
  t.true(size(directory) < fromBytes);
});

test('a process that has lost the store to another one, or whose files were replaced, does not go on', async t => {
  const claimed = (directory: string): void =>
    writeFileSync(join(directory, 'owner.json'), JSON.stringify({id: 'another', process: 1, host: 'elsewhere'}));
  const replaced = (directory: string): void => {
    cpSync(join(directory, 'data.mdb'), join(directory, 'other'));
    renameSync(join(directory, 'other'), join(directory, 'data.mdb'));
  };
  for (const [meanwhile, reason] of [
    [claimed, 'was claimed by process 1 on elsewhere meanwhile: stop that one'],
    [replaced, 'was just compacted by another process: try again'],
  ] as const) {
    const directory = fresh();
    await mostlyFree(directory);
    let ino = 0;
    const shrink: ShrinkOptions = {
      // The bound is read once this process is named as the owner, before the copy is made.
      get fromBytes() {
        meanwhile(directory);
        ({ino} = statSync(join(directory, 'data.mdb')));
        return fromBytes;
      },
    };

    await t.throwsAsync(openEmbeddedStore({directory, naming: 'plat', clock: new VirtualClock(), shrink}), {
      message: `the store in ${directory} ${reason}`,
    });

    t.is(statSync(join(directory, 'data.mdb')).ino, ino);
  }
});

test('without space for a copy a store starts with its old file, and gives space back once there is some', async t => {
  const disk = smallDisk(t, 16);
  if (!disk) return;
  const {directory, ballast} = disk;
  const messages: string[] = [];
  rmSync(ballast);
  await mostlyFree(directory);
  writeFileSync(ballast, Buffer.alloc((16 << 20) - size(directory) - (512 << 10)));
  const before = size(directory);

  await (await restarted(directory, {}, messages)).close();
  t.is(size(directory), before);
  rmSync(ballast);
  await (await restarted(directory, {}, messages)).close();

  t.true(size(directory) < before / 2);
  t.deepEqual(messages, [notCompacted, compacted]);
});
