import {copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {closedFile, noteClosed, takeClosed} from '#src/storage/embedded/closing.js';
import {isSoundEntry} from '#src/storage/embedded/layout.js';
import {checkPages} from '#src/storage/embedded/pages.js';
import {StoreUnusable} from '#src/storage/errors.js';
import {bytes} from './store-environment.js';
import {fresh, open, root} from './embedded-stores.js';

test.after.always(() => rmSync(root, {recursive: true, force: true}));

const name = 'data.mdb';

/** A closed store, and the paths of its data and of the note that it was closed. */
const aClosedStore = async () => {
  const directory = fresh();
  const store = await open(directory);
  for (let index = 0; index < 200; index++) await store.create(`/a/${index}`, bytes('x'.repeat(500)));
  await store.close();
  return {directory, data: join(directory, name), note: join(directory, closedFile)};
};

/** Makes another page of each leaf, but not of the list of free pages, whose keys have eight bytes. */
const damageLeaves = (path: string): void => {
  const file = readFileSync(path);
  for (let page = 2 * 4096; page < file.length; page += 4096) {
    if (file.readUInt16LE(page + 18) !== 2) continue;
    const firstNode = page + 24 + file.readUInt16LE(page + 24);
    if (file.readUInt16LE(firstNode + 6) !== 8) file[page + 18] = 4;
  }
  writeFileSync(path, file);
};

test('a store that was closed has a note, which is taken away while it is open', async t => {
  const {directory, note} = await aClosedStore();
  t.true(existsSync(note));
  t.is(statSync(note).mode & 0o777, 0o600);

  const again = await open(directory);
  t.false(existsSync(note));
  t.is(await again.count('/a/', '/a0'), 200);
  await again.close();
  t.true(existsSync(note));
});

test('with the note the pages of records are not read again, and without it a damaged one is found', async t => {
  const {data} = await aClosedStore();
  const use = await checkPages(data, isSoundEntry, systemClock);
  t.deepEqual(await checkPages(data, isSoundEntry, systemClock, 'branches'), use);

  damageLeaves(data);

  t.deepEqual(await checkPages(data, isSoundEntry, systemClock, 'branches'), use);
  await t.throwsAsync(checkPages(data, isSoundEntry, systemClock), {name: 'FileDamaged', message: /has the header of another/});
});

test('pages that lead to records are read with the note, too', async t => {
  const {data} = await aClosedStore();
  const file = readFileSync(data);
  let branches = 0;
  for (let page = 2 * 4096; page < file.length; page += 4096)
    if (file.readUInt16LE(page + 18) === 1) {
      file.writeUInt32LE(9999, page + 24 + file.readUInt16LE(page + 24));
      branches++;
    }
  writeFileSync(data, file);

  t.true(branches > 0);
  await t.throwsAsync(checkPages(data, isSoundEntry, systemClock, 'branches'), {name: 'FileDamaged', message: /page 9999/});
});

test('a data file that was changed after the store was closed is read whole, also if its times were set back', async t => {
  const {directory, data} = await aClosedStore();
  const {atime, mtime} = statSync(data);
  damageLeaves(data);
  utimesSync(data, atime, mtime);

  await t.throwsAsync(open(directory), {instanceOf: StoreUnusable, message: /has the header of another/});
});

test('the note is of one file, and of one start', async t => {
  const {directory, data, note} = await aClosedStore();
  t.true(takeClosed(directory, name));
  t.false(takeClosed(directory, name));
  for (const other of ['', '{', 'null']) {
    writeFileSync(note, other);
    t.false(takeClosed(directory, name), other);
  }

  noteClosed(directory, name, noLog);
  copyFileSync(data, `${data}.copy`);
  renameSync(`${data}.copy`, data);
  t.false(takeClosed(directory, name));
});

test('a store whose last write failed has no note', async t => {
  const {directory, note} = await aClosedStore();
  const store = await open(directory);
  rmSync(join(directory, 'lock.mdb'));
  writeFileSync(join(directory, 'lock.mdb'), '');
  await t.throwsAsync(store.create('/b', bytes('x')), {message: /lock file was replaced/});
  await store.close();

  t.false(existsSync(note));
});
