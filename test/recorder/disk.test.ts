import {mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane} from '#src/plane/index.js';
import {RecordFolder, type FolderParts, type RecordFile} from '#src/recorder/folder.js';
import {historyOf} from '#src/recorder/history.js';
import {objectsAt} from '#src/recorder/objects.js';
import {readQuery} from '#src/recorder/query.js';
import {Recorder} from '#src/recorder/recorder.js';
import {MemorySegment} from '#src/recorder/segment.js';
import type {ChangeRecord} from '#src/recorder/records.js';

const clock = new VirtualClock();

const aFolder = (t: ExecutionContext): string => {
  const path = mkdtempSync(join(tmpdir(), 'plat-recorder-'));
  t.teardown(() => rmSync(path, {recursive: true, force: true}));
  return path;
};

const anError = (error: unknown): never => {
  throw error as Error;
};

const opened = async (path: string, {maxBytes = 1 << 20, ...parts}: {maxBytes?: number} & Partial<FolderParts> = {}) =>
  new Recorder({
    clock,
    maxBytes,
    folder: await RecordFolder.open({path, clock: systemClock, failed: anError, resumed: () => {}, ...parts}),
  });

/** Records the revisions of an object, of which each follows the one before. */
const revise = (recorder: Recorder, revisions: readonly number[], {resource = 'configmaps', filler = ''} = {}): void => {
  for (const revision of revisions) {
    const object = {group: '', resource, namespace: 'default', name: 'kept', uid: `uid-of-${resource}`};
    const state = (at: number) => Buffer.from(JSON.stringify({metadata: {name: 'kept'}, data: {at: String(at), same: 'x', filler}}));
    const report = {kind: 'change', type: revision > 1 ? 'updated' : 'created', object, verb: 'update', user: 'u', revision} as const;
    const [previous, before] = revision > 1 ? [revision - 1, state(revision - 1)] : [undefined, undefined];
    recorder.change({...report, previous}, {before, after: state(revision), jsonFrom: 0});
  }
};

const historyIn = async (recorder: Recorder, resource = 'configmaps') =>
  (await historyOf({group: '', resource, namespace: 'default', name: 'kept'}, recorder, clock)) as readonly ChangeRecord[];

test('records on disk are there after a restart, with digests that go on', async t => {
  const path = aFolder(t);
  const first = await opened(path);
  revise(first, [1, 2]);
  revise(first, [1], {resource: 'secrets'});
  const before = [await historyIn(first), await historyIn(first, 'secrets')];
  await first.close();
  const again = await opened(path);
  t.deepEqual([await historyIn(again), await historyIn(again, 'secrets')], before);
  revise(again, [3]);
  revise(again, [2], {resource: 'secrets'});
  const [, , third] = await historyIn(again);
  const [, updated] = await historyIn(again, 'secrets');

  t.like(third, {seq: 5, revision: '3', changes: [{path: 'data.at', before: '2', after: '3'}]});
  t.deepEqual(
    updated!.changes!.map(({path: field}) => field),
    ['data.at'],
  );
  t.true(again.info().isOnDisk);
  await again.close();
  const files = readdirSync(path);
  t.deepEqual(
    files.map(file => (statSync(join(path, file)).mode & 0o777).toString(8)),
    files.map(() => '600'),
  );
  const secret = {group: '', resource: 'secrets', name: 'hidden'};
  const last = await opened(path);
  const after = Buffer.from('{"metadata":{},"data":{"p":"swordfish"}}');
  last.change({kind: 'change', type: 'created', object: secret, verb: 'create', revision: 9, user: 'u'}, {after, jsonFrom: 0});
  await last.close();
  t.false(readdirSync(path).some(file => readFileSync(join(path, file)).includes('swordfish')));
});

test('of records that were cut off by a crash the whole ones are there', async t => {
  const path = aFolder(t);
  const first = await opened(path);
  revise(first, [1, 2, 3]);
  await first.close();
  const [file] = readdirSync(path).filter(name => name.endsWith('.bin'));
  truncateSync(join(path, file!), statSync(join(path, file!)).size - 3);
  const again = await opened(path);
  revise(again, [4]);
  const {length} = await historyIn(again);
  await again.close();

  t.is(length, 3);
  const last = await opened(path);
  const revisions = (await historyIn(last)).map(({revision, seq}) => `${seq}: ${revision}`);
  await last.close();
  t.deepEqual(revisions, ['1: 1', '2: 2', '4: 4']);
});

/** The objects of a resource at present, and how many records were looked at for them. */
const presentIn = async (recorder: Recorder, resource: string) => {
  const before = recorder.log.lookedAt;
  const stored = {list: () => Promise.resolve([]), table: () => undefined, showsOwners: () => true};
  const given = new URLSearchParams({group: '', resource});
  const {objects} = await objectsAt(readQuery(given), given, {recorder, clock, stored, mayList: () => Promise.resolve(true)});
  return {objects, looked: recorder.log.lookedAt - before};
};

test('a list of a moment parses those objects of the store alone that have no record', async t => {
  const recorder = await opened(aFolder(t));
  revise(recorder, [1, 2]);
  const read: string[] = [];
  const stored = {
    list: () =>
      Promise.resolve(
        ['a', 'kept'].map(name => ({
          namespace: 'default',
          name,
          read: () => {
            read.push(name);
            return {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name, namespace: 'default'}};
          },
        })),
      ),
    table: () => undefined,
    showsOwners: () => true,
  };
  const given = new URLSearchParams({group: '', resource: 'configmaps'});
  const {objects} = await objectsAt(readQuery(given), given, {recorder, clock, stored, mayList: () => Promise.resolve(true)});
  await recorder.close();

  t.deepEqual(read, ['a']);
  t.is(objects?.length, 2);
});

test('a list of a moment looks at the records of its resource alone, in memory and on disk', async t => {
  const path = aFolder(t);
  const many = Array.from({length: 100}, (_, at) => at + 1);
  const recorder = await opened(path);
  revise(recorder, many, {filler: 'x'.repeat(2000)});
  revise(recorder, [1, 2, 3], {resource: 'services'});
  revise(recorder, many.slice(50), {filler: 'x'.repeat(2000)});
  const expected = await presentIn(recorder, 'services');
  t.is(expected.looked, 3);
  t.like(expected.objects, [{data: {at: '3'}}]);
  t.is((await presentIn(recorder, 'pods')).looked, 0);
  await recorder.close();

  const again = await opened(path);
  t.deepEqual(await presentIn(again, 'services'), expected);
  await again.close();

  const files = (end: string) =>
    readdirSync(path)
      .filter(name => name.endsWith(end))
      .map(name => join(path, name))
      .sort();
  t.is(files('.index').length, files('.bin').length);
  const kept = files('.bin').map(file => readFileSync(file));
  // The end of the last file is looked for.
  for (const [at, file] of files('.bin').slice(0, -1).entries()) writeFileSync(file, Buffer.from(kept[at]!).fill(0, 100, 120));
  const spoilt = await opened(path);
  t.deepEqual(await presentIn(spoilt, 'services'), expected, 'what is broken elsewhere is not read');
  await spoilt.close();

  for (const [at, file] of files('.bin').entries()) writeFileSync(file, kept[at]!);
  for (const file of files('.index')) truncateSync(file, 20);
  for (const act of [() => {}, () => files('.index').forEach(file => rmSync(file))]) {
    act();
    const older = await opened(path);
    t.deepEqual(await presentIn(older, 'services'), expected, 'without an index files are read whole');
    await older.close();
  }
});

test('files take no more bytes than the bound: the oldest are removed', async t => {
  const path = aFolder(t);
  const recorder = await opened(path);
  for (let at = 0; at < 30; at++) {
    revise(
      recorder,
      Array.from({length: 20}, (_, index) => 20 * at + index + 1),
      {filler: 'x'.repeat(3000)},
    );
    await recorder.flush();
  }
  const records = await historyIn(recorder);
  await recorder.close();
  const sizes = readdirSync(path).map(name => statSync(join(path, name)).size);

  t.true(sizes.reduce((sum, size) => sum + size, 0) <= 1 << 20);
  t.true(records.length > 150 && records.length < 400 && records.at(-1)!.revision === '600', String(records.length));
  t.true(records.every(({changes}) => changes?.length === 1));
});

/** A disk that is full while it is told so, also in the middle of a write. */
const aFullDisk = () => {
  const disk = {isFull: false, written: Buffer.alloc(0)};
  const create = (): Promise<RecordFile> =>
    Promise.resolve({
      write(bytes: Uint8Array, from: number, length: number, position: number) {
        if (disk.isFull) return Promise.reject(Object.assign(new Error('ENOSPC: no space left on device, write'), {code: 'ENOSPC'}));
        const part = Math.min(length, 100);
        const end = Math.max(disk.written.length, position + part);
        disk.written = Buffer.concat([disk.written, Buffer.alloc(end - disk.written.length)]);
        disk.written.set(bytes.subarray(from, from + part), position);
        disk.isFull = disk.written.length > 150 && disk.written.length < 300;
        return Promise.resolve({bytesWritten: part});
      },
      close: () => Promise.resolve(),
    });
  return {disk, create};
};

test('while the disk is full the records wait, which is said once, and they are written when it has room again', async t => {
  const said: string[] = [];
  const {disk, create} = aFullDisk();
  const diskClock = new VirtualClock();
  const recorder = await opened(aFolder(t), {
    clock: diskClock,
    create,
    failed: error => void said.push((error as NodeJS.ErrnoException).code!),
    resumed: () => void said.push('resumed'),
  });
  revise(recorder, [1]);
  await recorder.flush();
  revise(recorder, [2, 3]);
  await diskClock.advance(60_000);

  t.deepEqual(said, ['ENOSPC']);
  t.is((await historyIn(recorder)).length, 3);
  disk.isFull = false;
  disk.written = Buffer.concat([disk.written, Buffer.alloc(200)]); // Beyond the size at which this disk is full.
  await diskClock.advance(60_000);
  await recorder.flush();
  t.deepEqual(said, ['ENOSPC', 'resumed']);
  t.is(recorder.left, 0);
  const written = MemorySegment.of(1, disk.written);
  t.deepEqual(
    Array.from({length: written.count}, (_, index) => written.entry(index).revision),
    [1, 2, 3],
  );
  await recorder.close();
});

test('records that wait for a disk have a bound, beyond which they are left out', async t => {
  const create = () => Promise.reject(new Error('gone'));
  const recorder = await opened(aFolder(t), {maxBytes: 64 << 20, clock: new VirtualClock(), create, failed: () => {}});
  for (let revision = 1; revision <= 300; revision++) {
    revise(recorder, [revision], {filler: 'x'.repeat(100_000)});
    if (revision % 50 === 0) await recorder.flush();
  }

  t.true(recorder.left > 50, String(recorder.left));
  t.true(recorder.info().bytes < 24 << 20);
  await recorder.close();
});

test('a folder is used by one recorder at a time, and one whose process was killed can be used', async t => {
  const path = aFolder(t);
  writeFileSync(join(path, 'owner'), '1\n');
  const first = await opened(path);
  const message = `in use by the server of process ${process.pid}: stop that one, or give another folder`;

  if (process.platform === 'linux') await t.throwsAsync(opened(path), {message});
  await first.close();
  await (await opened(path)).close();
  t.pass();
});

test('a plane keeps its records in a folder, and a fork of it has its own in memory', async t => {
  const path = aFolder(t);
  const plane = await startPlane({controllers: 'none', listen: false, recordDir: path, record: '4Mi'});
  const client = plane.client();
  await client.create(kinds.configMaps, {metadata: {namespace: 'default', name: 'kept'}});
  const fork = await plane.fork();
  await fork.client().create(kinds.configMaps, {metadata: {namespace: 'default', name: 'other'}});

  t.deepEqual(await historyIn(fork.recorder as Recorder), []);
  t.is((await fork.history(kinds.configMaps, 'default/other')).length, 1);
  t.is((await plane.history(kinds.configMaps, 'default/other')).length, 0);
  await fork.stop();
  await plane.stop();
  const recorder = await opened(path);
  t.like(await historyIn(recorder), [{type: 'created', user: 'plat-admin'}]);
  await recorder.close();
});
