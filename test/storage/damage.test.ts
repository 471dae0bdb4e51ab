import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import test, {type ExecutionContext} from 'ava';
import {open as lmdb} from 'lmdb';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {LayoutKey} from '#src/storage/embedded/layout.js';
import {treeSettings, type Tree} from '#src/storage/embedded/writes.js';
import {Compacted, StoreUnusable, ValueUnreadable} from '#src/storage/errors.js';
import {brief, Follower} from './follower.js';
import {bytes} from './store-environment.js';
import {fresh, open, root} from './embedded-stores.js';

test.after.always(() => rmSync(root, {recursive: true, force: true}));

const dataOf = (directory: string): string => join(directory, 'data.mdb');

/** Writes another byte into each place of the data file that holds `mark`: older pages are there, too. */
const damage = (directory: string, mark: string, offset = 0): void => {
  const file = readFileSync(dataOf(directory));
  for (let at = file.indexOf(mark); at >= 0; at = file.indexOf(mark, at + 1)) file[at + offset]! ^= 0x20;
  writeFileSync(dataOf(directory), file);
};

/** A closed store with three keys, and a change of each. */
const aStore = async (): Promise<string> => {
  const directory = fresh();
  const store = await open(directory);
  for (const key of ['/a/1', '/a/2', '/b/1']) await store.create(key, bytes(`value of ${key}`));
  await store.close();
  return directory;
};

test('a record with a damaged value is an error of its key alone, and can be deleted', async t => {
  const directory = await aStore();
  damage(directory, 'value of /a/2');
  const store = await open(directory);

  const error = t.throws(() => store.get('/a/2'), {instanceOf: ValueUnreadable, message: 'the record of "/a/2" at revision 3 is damaged'});
  t.like(error, {key: '/a/2', revision: 3});
  t.throws(() => store.range({start: '/a/', end: '/a0'}), {instanceOf: ValueUnreadable, message: error!.message});
  t.is(await store.count('/a/', '/a0'), 2);
  t.is((await store.range({start: '/b/', end: '/b0'})).records.length, 1);
  await t.throwsAsync(store.create('/a/2', bytes('new')), {name: 'KeyExists'});
  await t.throwsAsync(store.update('/a/2', bytes('new'), 3), {instanceOf: ValueUnreadable});
  await t.throwsAsync(store.delete('/a/2', 2), {name: 'RevisionMismatch'});
  t.is(await store.delete('/a/2', 3), 5);
  t.is((await store.range({start: '/a/', end: '/a0'})).records.length, 1);
  t.is(await store.create('/a/2', bytes('new')), 6);
  await store.close();
});

test('a watch ends with the error where it meets a damaged record; those of other keys go on', async t => {
  const directory = await aStore();
  damage(directory, 'value of /a/2');
  const store = await open(directory);
  using ofA = new Follower(store, {prefix: '/a/', after: 1});
  using ofB = new Follower(store, {prefix: '/b/', after: 1});
  await ofB.until(({progressed}) => progressed.length > 0);
  await ofA.until(({endings}) => endings.length > 0);
  t.deepEqual(ofA.received.map(brief), ['+/a/1 2']);
  t.true(ofA.endings[0] instanceof ValueUnreadable);

  using live = new Follower(store, {prefix: '/a/', after: 4});
  await live.until(({progressed}) => progressed.length > 0);
  await store.delete('/a/2', 3);
  await live.until(({endings}) => endings.length > 0);
  t.true(live.endings[0] instanceof ValueUnreadable);
  await store.create('/b/2', bytes('x'));
  await ofB.until(({received}) => received.length === 2);
  t.deepEqual(ofB.received.map(brief), ['+/b/1 4', '+/b/2 6']);
  await store.close();
});

test('a change whose key is damaged ends watches that resume from before it, as history that is gone', async t => {
  const directory = await aStore();
  damage(directory, '/a/2value', 1);
  const store = await open(directory);
  t.throws(() => store.get('/a/2'), {instanceOf: ValueUnreadable, message: /"\/a\/2" at revision 3/});

  using before = new Follower(store, {prefix: '/b/', after: 1});
  await before.until(({endings}) => endings.length > 0);
  t.true(before.endings[0] instanceof Compacted);
  using after = new Follower(store, {prefix: '/b/', after: 3});
  await after.until(({received}) => received.length === 1);
  await store.delete('/a/2', 3);
  await store.compact(await store.revision());
  t.is(await store.count('/', '0'), 2);
  await store.close();
});

test('records under a lease are deleted when it expires although they are damaged', async t => {
  const directory = fresh();
  const clock = new VirtualClock();
  const first = await open(directory, clock);
  const lease = await first.lease(60);
  for (const name of ['value', 'head!', 'whole']) await first.create(`/${name}`, bytes(`${name} bytes`), {lease});
  await first.close();
  damage(directory, 'value bytes');
  damage(directory, '/head!head!', 1);
  const store = await open(directory, clock);

  await clock.advance(61_000);

  t.is(await store.count('/', '0'), 0);
  await store.close();
  t.is(clock.pending, 0);
});

/** A change as format 1 had it. */
const uncheckedChange = (key: string, value: string | undefined, created: number, previous: number): Buffer => {
  const head = Buffer.alloc(21);
  head[0] = value === undefined ? 2 : 1;
  head.writeUIntBE(created, 1, 6);
  head.writeUIntBE(previous, 7, 6);
  head.writeUInt16BE(key.length, 19);
  return Buffer.concat([head, bytes(key), bytes(value ?? '')]);
};

const uncheckedNumber = (value: number): Buffer => {
  const number = Buffer.alloc(8);
  number.writeDoubleBE(value);
  return number;
};

test('records of the format before checksums are read', async t => {
  const directory = fresh();
  mkdirSync(directory, {recursive: true});
  const tree: Tree = lmdb({path: directory, ...treeSettings});
  const entries: [LayoutKey, Buffer][] = [
    ['\u0001identity', bytes('{"format":1,"naming":"plat"}')],
    ['\u0001compacted', uncheckedNumber(2)],
    ['\u0001swept', uncheckedNumber(2)],
    [2, uncheckedChange('/a', 'one', 2, 0)],
    [3, uncheckedChange('/b', 'two', 3, 0)],
    [4, uncheckedChange('/a', 'new', 2, 2)],
    [5, uncheckedChange('/c', undefined, 0, 0)],
    ['\u0002/a', uncheckedNumber(4)],
    ['\u0002/b', uncheckedNumber(3)],
    ['\u0003/c', uncheckedNumber(5)],
  ];
  for (const [key, value] of entries) await tree.put(key, value);
  await tree.close();
  const store = await open(directory);

  const {records} = await store.range({start: '/', end: '0'});
  t.deepEqual(
    records.map(({key, value, revision, created}) => `${key} ${value.toString()} ${revision} ${created}`),
    ['/a new 4 2', '/b two 3 3'],
  );
  t.is((await store.range({start: '/', end: '0', revision: 3})).records[0]?.value.toString(), 'one');
  t.is(await store.update('/b', bytes('three'), 3), 6);
  await store.compact(6);
  await store.close();
  const again = await open(directory);
  t.is((await again.get('/b'))?.value.toString(), 'three');
  await again.close();
});

for (const [what, change] of Object.entries({
  missing: (directory: string) => rmSync(dataOf(directory)),
  empty: (directory: string) => truncateSync(dataOf(directory)),
}))
  test(`a store whose data file is ${what} is not taken for a new one`, async t => {
    const directory = await aStore();
    change(directory);

    const error = await t.throwsAsync(open(directory), {instanceOf: StoreUnusable});

    t.is(
      error?.message,
      `--data-dir: ${dataOf(directory)} is damaged: it is ${what}: move ${directory} away and restore a snapshot with "plat snapshot restore" (docs/operations.md)`,
    );
    t.is(existsSync(dataOf(directory)), what === 'empty');
  });

/** Writes a data file with values of many sizes, deletions, leases and free pages, beside what it holds. */
const fill = async (): Promise<string> => {
  const random = seededRandom(11);
  const directory = fresh();
  const store = await open(directory);
  const expected = new Map<string, string>();
  for (let step = 0; step < 600; step++) {
    const key = `/${'abc'[step % 3]}/${Math.floor(random.float() * 200)}`;
    const known = await store.get(key);
    const value = `${step} ${'x'.repeat(Math.floor(random.float() ** 3 * 9000))}`;
    if (!known) await store.create(key, bytes(value), step % 7 === 0 ? {lease: await store.lease(1e9)} : {});
    else if (random.float() < 0.3) await store.delete(key, known.revision);
    else await store.update(key, bytes(value), known.revision);
    const now = await store.get(key);
    if (now) expected.set(key, now.value.toString('latin1'));
    else expected.delete(key);
    if (step === 400) await store.compact(300);
  }
  await store.close();
  writeFileSync(`${dataOf(directory)}.json`, JSON.stringify([...expected]));
  return dataOf(directory);
};

let filled: Promise<string> | undefined;
/** A data file that is copied, and damaged then. */
const aFullFile = (): Promise<string> => (filled ??= fill());

const outcomes = async (t: ExecutionContext, kind: string, count: number): Promise<string[]> => {
  const original = await aFullFile();
  const program = fileURLToPath(new URL('damaged-child.js', import.meta.url));
  const child = spawn(process.execPath, [program, fresh(), original, kind, '0', String(count)], {stdio: ['ignore', 'pipe', 'inherit']});
  const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number, string]>]);
  t.deepEqual(
    {code, signal, last: output.trim().split('\n').at(-1)?.split(' ')[0]},
    {code: 0, signal: null as never, last: String(count - 1)},
  );
  return output.trim().split('\n');
};

for (const [kind, count] of [
  ['bits', 25],
  ['headers', 25],
  ['metas', 40],
  ['page', 20],
  ['cut', 20],
] as const)
  test(`a store with damaged ${kind} is refused in one line, or each damaged record is named and all others are whole`, async t => {
    const lines = await outcomes(t, kind, count);

    t.deepEqual(
      lines.filter(line => !/^\d+ (refused|opened)$/.test(line)),
      [],
    );
    t.log(`${lines.filter(line => line.endsWith('refused')).length} of ${count} refused`);
  });
