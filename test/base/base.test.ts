import {getEventListeners} from 'node:events';
import {lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {systemFiles} from '#src/base/files.js';
import {Lru} from '#src/base/lru.js';
import {exponentialBuckets} from '#src/base/meter.js';
import {firstOf} from '#src/base/signals.js';

test('linked signals abort with the first of them, and leave nothing on the others', t => {
  const [a, b] = [new AbortController(), new AbortController()];
  const linked = firstOf(a.signal, undefined, b.signal);
  t.false(linked.signal.aborted);

  b.abort('enough');

  t.is(linked.signal.reason, 'enough');
  t.deepEqual(getEventListeners(a.signal, 'abort'), []);
});

test('a signal linked to one that has aborted has aborted too', t => {
  const a = new AbortController();
  t.is(firstOf(a.signal, AbortSignal.abort('before')).signal.reason, 'before');
  t.deepEqual(getEventListeners(a.signal, 'abort'), []);
});

test('a link that is disposed of hears nothing more', t => {
  const a = new AbortController();
  const linked = firstOf(a.signal);

  linked[Symbol.dispose]();
  a.abort();

  t.false(linked.signal.aborted);
});

test('a bounded map forgets what was not used for longest', t => {
  const map = new Lru<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  t.is(map.get('a'), 1);

  map.set('c', 3);

  t.deepEqual([map.get('a'), map.get('b'), map.get('c'), map.size], [1, undefined, 3, 2]);
});

test('exponential bounds are round numbers', t => {
  t.deepEqual(exponentialBuckets(1e-8, 10, 4), [1e-8, 1e-7, 1e-6, 1e-5]);
});

test('a file is replaced as a whole, with its mode, and nothing that lies beside it or at it is written through', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-files-'));
  const [file, elsewhere] = [join(folder, 'key'), join(folder, 'elsewhere')];
  writeFileSync(elsewhere, 'untouched');
  symlinkSync(elsewhere, file);
  symlinkSync(elsewhere, `${file}.new`);

  await systemFiles.write(file, 'secret', 0o600);

  t.is(readFileSync(elsewhere, 'utf8'), 'untouched');
  t.deepEqual([lstatSync(file).isFile(), lstatSync(file).mode & 0o777, readFileSync(file, 'utf8')], [true, 0o600, 'secret']);
  t.deepEqual(readdirSync(folder), ['elsewhere', 'key', 'key.new']);
  rmSync(folder, {recursive: true});
});
