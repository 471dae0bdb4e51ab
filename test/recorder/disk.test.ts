import {mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane} from '#src/plane/index.js';
import {RecordFolder} from '#src/recorder/folder.js';
import {historyOf} from '#src/recorder/history.js';
import {Recorder} from '#src/recorder/recorder.js';
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

const opened = (path: string, {maxBytes = 1 << 20, failed = anError as (error: unknown) => void} = {}) =>
  new Recorder({clock, maxBytes, folder: new RecordFolder({path, failed})});

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
  const first = opened(path);
  revise(first, [1, 2]);
  revise(first, [1], {resource: 'secrets'});
  const before = [await historyIn(first), await historyIn(first, 'secrets')];
  await first.close();
  const again = opened(path);
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
  const last = opened(path);
  const after = Buffer.from('{"metadata":{},"data":{"p":"swordfish"}}');
  last.change({kind: 'change', type: 'created', object: secret, verb: 'create', revision: 9, user: 'u'}, {after, jsonFrom: 0});
  await last.close();
  t.false(readdirSync(path).some(file => readFileSync(join(path, file)).includes('swordfish')));
});

test('of records that were cut off by a crash the whole ones are there', async t => {
  const path = aFolder(t);
  const first = opened(path);
  revise(first, [1, 2, 3]);
  await first.close();
  const [file] = readdirSync(path).filter(name => name.endsWith('.bin'));
  truncateSync(join(path, file!), statSync(join(path, file!)).size - 3);
  const again = opened(path);
  revise(again, [4]);
  const {length} = await historyIn(again);
  await again.close();

  t.is(length, 3);
  const revisions = (await historyIn(opened(path))).map(({revision, seq}) => `${seq}: ${revision}`);
  t.deepEqual(revisions, ['1: 1', '2: 2', '4: 4']);
});

test('files take no more bytes than the bound: the oldest are removed', async t => {
  const path = aFolder(t);
  const recorder = opened(path);
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

test('a folder that cannot be written stops the recorder, once, and fails nothing', async t => {
  const path = aFolder(t);
  const failures: unknown[] = [];
  const recorder = opened(path, {failed: error => void failures.push(error)});
  rmSync(path, {recursive: true});
  revise(recorder, [1]);
  await recorder.flush();
  revise(recorder, [2, 3]);
  await recorder.flush();

  t.is(failures.length, 1);
  t.is(recorder.left, 2);
  t.deepEqual(
    (await historyIn(recorder)).map(({revision}) => revision),
    ['1'],
  );
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
  const recorder = opened(path);
  t.like(await historyIn(recorder), [{type: 'created', user: 'plat-admin'}]);
  await recorder.close();
});
