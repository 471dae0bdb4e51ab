import {mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {gunzipSync} from 'node:zlib';
import test from 'ava';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {LogFile} from '#src/apiserver/audit/log-file.js';
import type {Retention} from '#src/apiserver/audit/old-log-files.js';

const keepAll: Retention = {maxAgeDays: 0, maxFiles: 0, compress: false};

/** A log file in a directory of its own. */
const aLog = async (retention: Partial<Retention> = {}, {maxBytes = 20, folder = mkdtempSync(join(tmpdir(), 'audit-'))} = {}) => {
  const clock = new VirtualClock();
  const path = join(folder, 'logs', 'audit.log');
  const open = () => LogFile.open({path, maxBytes, retention: {...keepAll, ...retention}, clock, log: noLog});
  const log = await open();
  return {
    clock,
    path,
    log,
    open,
    write: (text: string) => log.write(Buffer.from(`${text}\n`)),
    read: () => readFileSync(path, 'utf8'),
    others: () =>
      readdirSync(join(folder, 'logs'))
        .filter(name => name !== 'audit.log')
        .sort(),
    content: (name: string) => readFileSync(join(folder, 'logs', name)),
  };
};

test('lines are appended in order to a file that only its owner can read', async t => {
  const {log, path, write, read} = await aLog({}, {maxBytes: 1000});

  await Promise.all(['one', 'two', 'three'].map(write));
  await write('four');
  await log.close();

  t.is(read(), 'one\ntwo\nthree\nfour\n');
  t.is(statSync(path).mode & 0o777, 0o600);
  t.is(statSync(join(path, '..')).mode & 0o777, 0o700);
});

test('an existing file is continued, with its mode', async t => {
  const first = await aLog({}, {maxBytes: 12});
  await first.write('one');
  await first.log.close();
  writeFileSync(first.path, 'zero\n', {mode: 0o640});

  const log = await first.open();
  await log.write(Buffer.from('one\n'));
  await log.write(Buffer.from('two\n'));
  await log.close();

  t.is(first.read(), 'two\n');
  t.is(first.content(first.others()[0]!).toString(), 'zero\none\n');
});

test('a file that would grow beyond its size is renamed by the time, and a new one begun', async t => {
  const {log, clock, write, read, others, content} = await aLog();

  await write('0123456789');
  await write('abc');
  await clock.advance(1500);
  await write('0123456789');
  await log.close();

  t.deepEqual(others(), ['audit-2026-01-01T00-00-01.500.log']);
  t.is(content(others()[0]!).toString(), '0123456789\nabc\n');
  t.is(read(), '0123456789\n');
});

test('lines of one moment fill several files, and no line is split or lost', async t => {
  const {log, write, read, others, content} = await aLog();
  const lines = Array.from({length: 30}, (_, i) => `line ${String(i).padStart(3, '0')}`);

  await Promise.all(lines.map(write));
  await log.close();

  const files = [...others().map(name => content(name).toString()), read()];
  t.is(files.join(''), lines.map(line => `${line}\n`).join(''));
  t.true(files.every(text => text.length <= 20));
});

test('a line longer than a file is refused and leaves the others alone', async t => {
  const {log, write, read} = await aLog();

  const refused = t.throwsAsync(write('x'.repeat(30)), {message: 'write length 31 exceeds maximum file size 20'});
  await write('short');
  await refused;
  await log.close();

  t.is(read(), 'short\n');
});

test('only so many old files are kept', async t => {
  const {log, clock, write, others} = await aLog({maxFiles: 2});

  for (let i = 0; i < 5; i++) {
    await clock.advance(1000);
    await write('0123456789abcdef');
  }
  await log.close();

  t.deepEqual(others(), ['audit-2026-01-01T00-00-04.000.log', 'audit-2026-01-01T00-00-05.000.log']);
});

test('old files are kept for so many days', async t => {
  const {log, clock, write, others} = await aLog({maxAgeDays: 2});

  for (let i = 0; i < 5; i++) {
    await clock.advance(86_400_000);
    await write('0123456789abcdef');
  }
  await log.close();

  t.deepEqual(others(), ['audit-2026-01-04T00-00-00.000.log', 'audit-2026-01-05T00-00-00.000.log', 'audit-2026-01-06T00-00-00.000.log']);
});

test('old files are compressed, those of an earlier run too', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'));
  const earlier = await aLog({}, {folder});
  await earlier.write('0123456789abcdef');
  await earlier.write('0123456789ABCDEF');
  await earlier.log.close();

  const later = await aLog({compress: true}, {folder});
  await later.clock.advance(1000);
  await later.write('next');
  await later.log.close();

  const names = ['audit-2026-01-01T00-00-00.000.log.gz', 'audit-2026-01-01T00-00-01.000.log.gz'];
  t.deepEqual(later.others(), names);
  t.deepEqual(
    names.map(name => gunzipSync(later.content(name)).toString()),
    ['0123456789abcdef\n', '0123456789ABCDEF\n'],
  );
  t.is(statSync(join(folder, 'logs', names[0]!)).mode & 0o777, 0o600);
});

test('other files of the folder are left alone', async t => {
  const {log, path, write, others} = await aLog({maxFiles: 1, compress: true});
  for (const name of ['audit-notes.log', 'other-2026-01-01T00-00-00.000.log', 'audit-2020-01-01T00-00-00.000.txt'])
    writeFileSync(join(path, '..', name), 'mine');

  for (let i = 0; i < 3; i++) await write('0123456789abcdef');
  await log.close();

  t.deepEqual(others(), [
    'audit-2020-01-01T00-00-00.000.txt',
    'audit-2026-01-01T00-00-00.001.log.gz',
    'audit-notes.log',
    'other-2026-01-01T00-00-00.000.log',
  ]);
});

test('what a full disk refuses fails, and what follows is written once there is space', async t => {
  const log = await LogFile.open({path: '/dev/full', maxBytes: 1000, retention: keepAll, clock: new VirtualClock(), log: noLog});

  await t.throwsAsync(log.write(Buffer.from('x\n')), {code: 'ENOSPC'});
  await t.throwsAsync(log.write(Buffer.from('y\n')), {code: 'ENOSPC'});
  await log.close();
});

test('a file that cannot be opened is reported', async t => {
  await t.throwsAsync(LogFile.open({path: tmpdir(), maxBytes: 10, retention: keepAll, clock: new VirtualClock(), log: noLog}), {
    code: 'EISDIR',
  });
});
