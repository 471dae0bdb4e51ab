import {getEventListeners} from 'node:events';
import {lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {open} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {jsonText, parseJson, withNumbers} from '#src/base/json/json.js';
import {runEvery, systemClock, withErrorHandler, type Clock} from '#src/base/clock.js';
import {leastOf, mostOf} from '#src/base/extremes.js';
import {followFiles, passingFiles, systemFiles} from '#src/base/files/files.js';
import {exponentialBuckets} from '#src/base/meter.js';
import {firstOf} from '#src/base/signals.js';
import {VirtualClock} from '#src/base/virtual-clock.js';

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

test('a link that is disposed of receives nothing more', t => {
  const a = new AbortController();
  const linked = firstOf(a.signal);

  linked[Symbol.dispose]();
  a.abort();

  t.false(linked.signal.aborted);
});

test('exponential bounds are round numbers', t => {
  t.deepEqual(exponentialBuckets(1e-8, 10, 4), [1e-8, 1e-7, 1e-6, 1e-5]);
});

test('a file is replaced as a whole, with its mode, and nothing that lies beside it or at it is written through', async t => {
  for (const files of [systemFiles, passingFiles]) {
    const folder = mkdtempSync(join(tmpdir(), 'plat-files-'));
    const [file, elsewhere] = [join(folder, 'key'), join(folder, 'elsewhere')];
    writeFileSync(elsewhere, 'untouched');
    symlinkSync(elsewhere, file);
    symlinkSync(elsewhere, `${file}.new`);

    await files.write(file, 'secret', 0o600);

    t.is(readFileSync(elsewhere, 'utf8'), 'untouched');
    t.deepEqual([lstatSync(file).isFile(), lstatSync(file).mode & 0o777, readFileSync(file, 'utf8')], [true, 0o600, 'secret']);
    t.deepEqual(readdirSync(folder), ['elsewhere', 'key', 'key.new']);
    rmSync(folder, {recursive: true});
  }
});

/** A clock, and the errors that no caller could receive. */
const reporting = <C extends Clock>(of: C) => {
  const errors: string[] = [];
  return {of, errors, clock: withErrorHandler(of, error => errors.push((error as Error).message))};
};

const failing = (message: string) => () => {
  throw new Error(message);
};

test('errors of timer callbacks, and rejections of their promises, go to the error handler of the clock', async t => {
  const {of, errors, clock} = reporting(new VirtualClock());
  clock.schedule(1, failing('thrown'));
  clock.schedule(2, async () => failing('rejected')());
  await of.advance(2);

  t.deepEqual(errors, ['thrown', 'rejected']);
});

test('a callback of the system clock that throws ends no process that has an error handler', async t => {
  const {errors, clock} = reporting(systemClock);
  using _ = systemClock.keepAlive();
  await new Promise<void>(resolve => {
    clock.schedule(0, failing('thrown'));
    clock.schedule(1, async () => failing('rejected')());
    clock.schedule(5, resolve);
  });

  t.deepEqual(errors, ['thrown', 'rejected']);
});

test('a virtual clock without an error handler throws from advance', async t => {
  const clock = new VirtualClock();
  clock.schedule(1, failing('thrown'));
  await t.throwsAsync(clock.advance(1), {message: 'thrown'});
  clock.schedule(1, async () => failing('rejected')());
  await t.throwsAsync(clock.advance(1), {message: 'rejected'});
});

test('a periodic callback that fails runs again after the next period', async t => {
  const {of, errors, clock} = reporting(new VirtualClock());
  const stop = new AbortController();
  let runs = 0;
  runEvery(clock, 1000, stop.signal, () => {
    runs++;
    if (runs === 1) throw new Error('thrown');
    if (runs === 2) return Promise.reject(new Error('rejected'));
  });
  await of.advance(3000);
  stop.abort();

  t.deepEqual([runs, errors], [3, ['thrown', 'rejected']]);
  t.is(of.pending, 0);
});

test('files that could not be looked at once are looked at again when they change', async t => {
  const {of, errors, clock} = reporting(new VirtualClock());
  const stop = new AbortController();
  let stamp = 0;
  let looks = 0;
  const check = () => {
    if (++looks === 1) throw new Error('unreadable');
  };
  followFiles({
    files: {...systemFiles, stamp: () => String(stamp), watch: () => ({[Symbol.dispose]() {}})},
    clock,
    paths: ['/x/y'],
    signal: stop.signal,
    check,
  });
  for (stamp of [1, 2, 3]) await of.advance(60_000);
  stop.abort();

  t.deepEqual([looks, errors], [3, ['unreadable']]);
});

test('a file that cannot be looked at does not throw', t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-test-'));
  t.teardown(() => rmSync(directory, {recursive: true}));
  writeFileSync(join(directory, 'file'), '');

  t.is(systemFiles.stamp(join(directory, 'file', 'below')), '');
  t.is(systemFiles.stamp(join(directory, 'none')), '');
  t.is(systemFiles.stamp(join(directory, 'x'.repeat(300))), 'ENAMETOOLONG');
});

test.serial("files are replaced where handles cannot be synced by themselves, as under Plug'n'Play", async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-files-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const handle = await open(join(folder, 'other'), 'w');
  await handle.close();
  const handles = Object.getPrototypeOf(handle) as {sync: () => Promise<void>};
  const {sync} = handles;
  t.teardown(() => (handles.sync = sync));
  handles.sync = () => Promise.reject(new Error('Method not implemented.'));

  await systemFiles.write(join(folder, 'file'), 'text', 0o600);

  t.is(readFileSync(join(folder, 'file'), 'utf8'), 'text');
});

test('the least and the most of more numbers than fit a call are found', t => {
  const numbers = Array.from({length: 300_000}, (_, at) => at - 5);

  t.deepEqual([leastOf(numbers), mostOf(numbers), leastOf([]), mostOf([])], [-5, 299_994, Infinity, -Infinity]);
});

for (const text of [
  '9223372036854775807',
  '-9223372036854775808',
  '[1,9007199254740993,"9007199254740993",{"a":-9007199254740993,"b":[],"c":{}}]',
  String.raw`{"k\"9007199254740993":"\\","__proto__":{"n":9007199254740993},"t":[true,false,null,1.5]}`,
]) {
  test(`whole numbers of 64 bits are read and written to the digit: ${text}`, t => {
    t.is(jsonText(parseJson(text)), text);
    t.is(jsonText(parseJson(jsonText(parseJson(text), 2))), text);
  });
}

test('whole numbers of 64 bits are found wherever they are in a text', t => {
  for (let before = 0; before < 40; before++) {
    const text = `{"${'x'.repeat(before)}":9007199254740993,"n":12,"t":"${'1234 '.repeat(5)}"}`;
    t.is(jsonText(parseJson(text)), text);
  }
});

test('integers beyond 64 bits, fractions and other numbers keep their digits', t => {
  t.deepEqual(
    parseJson('[9007199254740991, 9007199254740993.5, 1e18, 9223372036854775808, 12345678901234567890123]'),
    [9007199254740991, 9007199254740994, 1e18, 9223372036854775808, 1.2345678901234568e22],
  );
  t.deepEqual(parseJson('{"a":"1234567890123456789","a":1}'), {a: 1});
  t.throws(() => parseJson('[9007199254740993,]'), {instanceOf: SyntaxError});
});

test('JSON for computing has plain numbers, and is the same value where nothing had to change', t => {
  const value = parseJson('{"a":{"b":9007199254740993},"c":{"d":[1]}}') as {c: unknown};
  const reckoned = withNumbers(value);

  t.deepEqual(reckoned, {a: {b: 9007199254740992}, c: {d: [1]}} as object);
  t.is(reckoned.c, value.c);
  t.is(withNumbers(value.c), value.c);
});
