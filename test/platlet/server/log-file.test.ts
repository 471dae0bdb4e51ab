import {appendFileSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import type {LogQuery} from '#src/api/node/agent.js';
import {systemClock} from '#src/base/clock.js';
import {openBlocks} from '#src/base/files/block-reader.js';
import {systemFiles} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';
import {readLogFile} from '#src/platlet/server/log-file.js';

const all: LogQuery = {follow: false, previous: false, timestamps: false, stream: 'All'};

interface TestLog extends Disposable {
  readonly path: string;
  isRunning: boolean;
  read(query?: Partial<LogQuery>, signal?: AbortSignal, open?: typeof openBlocks): AsyncGenerator<Buffer, void, undefined>;
}

const aLog = (...lines: readonly string[]): TestLog => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-log-'));
  const path = join(folder, '0.log');
  writeFileSync(path, lines.map(line => `${line}\n`).join(''));
  const log: TestLog = {
    path,
    isRunning: true,
    read: (query = {}, signal = new AbortController().signal, open = openBlocks) =>
      readLogFile({
        path,
        query: {...all, ...query},
        files: systemFiles,
        clock: systemClock,
        log: noLog,
        signal,
        open,
        isRunning: async () => log.isRunning,
      }),
    [Symbol.dispose]: () => rmSync(folder, {recursive: true}),
  };
  return log;
};

const textOf = async (pieces: AsyncIterable<Buffer>): Promise<string> => {
  let text = '';
  for await (const piece of pieces) text += piece.toString();
  return text;
};

const at = (second: number, rest: string): string => `2026-01-02T03:04:0${second}.5Z ${rest}`;
const three = [at(1, 'stdout F one'), at(2, 'stderr F two'), at(3, 'stdout F three')];

const selections: readonly (readonly [what: string, query: Partial<LogQuery>, text: string])[] = [
  ['everything', {}, 'one\ntwo\nthree\n'],
  ['the last lines', {tailLines: 2}, 'two\nthree\n'],
  ['no line', {tailLines: 0}, ''],
  ['more last lines than there are', {tailLines: 9}, 'one\ntwo\nthree\n'],
  ['a number of bytes, cut within a line', {limitBytes: 6}, 'one\ntw'],
  ['one stream', {stream: 'Stderr'}, 'two\n'],
  ['what is since a time', {since: Date.parse('2026-01-02T03:04:02.5Z')}, 'two\nthree\n'],
  ['lines with their times', {timestamps: true, tailLines: 1}, '2026-01-02T03:04:03.500000000Z three\n'],
];

for (const [what, query, text] of selections)
  test(`a log is read: ${what}`, async t => {
    using log = aLog(...three);
    t.is(await textOf(log.read(query)), text);
  });

test('parts of a line are joined, with one time, and what is no line is left out', async t => {
  using log = aLog(at(1, 'stdout P begin'), 'rubbish', at(2, 'stdout F  end'), at(3, 'stdout F'));
  t.is(await textOf(log.read({timestamps: true})), '2026-01-02T03:04:01.500000000Z begin end\n2026-01-02T03:04:03.500000000Z \n');
});

test('a log that is followed is read over its rotation until the container ends', async t => {
  using _ = systemClock.keepAlive();
  using log = aLog(three[0]!);
  const pieces = log.read({follow: true});
  const next = async () => String((await pieces.next()).value);
  t.is(await next(), 'one\n');
  appendFileSync(log.path, `${three[1]}\n`);
  t.is(await next(), 'two\n');
  renameSync(log.path, `${log.path}.1`);
  appendFileSync(`${log.path}.1`, `${at(3, 'stdout F last of the old')}\n`);
  writeFileSync(log.path, `${three[2]}\n`);
  t.is(await next(), 'last of the old\n');
  t.is(await next(), 'three\n');
  log.isRunning = false;
  t.true((await pieces.next()).done);
});

test('many readers of a long log hold up others by one block at a time', async t => {
  using log = aLog(...Array.from({length: 20_000}, (_, index) => at(1, `stdout F line ${index} ${'x'.repeat(40)}`)));
  const readers = Promise.all(Array.from({length: 40}, () => textOf(log.read())));
  const blocks = 40 * Math.ceil(statSync(log.path).size / (64 << 10));
  let turns = 0;
  let isOver = false;
  void readers.then(() => (isOver = true));
  const over = (): boolean => isOver;
  for (; !over(); turns++) await new Promise(resolve => setImmediate(resolve));
  t.is(new Set(await readers).size, 1);
  t.true(turns >= blocks, `${turns} turns for ${blocks} blocks`);
});

test('following ends when the client leaves', async t => {
  using log = aLog(three[0]!);
  const client = new AbortController();
  const pieces = log.read({follow: true}, client.signal);
  await pieces.next();
  setTimeout(() => client.abort(), 10);
  t.true((await pieces.next()).done);
});

test('the last lines of a long log are found without reading all of it', async t => {
  using log = aLog(...Array.from({length: 20_000}, (_, index) => at(1, `stdout F line ${index}`)));
  t.is(await textOf(log.read({tailLines: 2})), 'line 19998\nline 19999\n');
  t.is((await textOf(log.read({tailLines: 5_000}))).split('\n').length, 5_001);
});

test('the last lines are as many as were asked for, also of a container that writes faster than its log is read', async t => {
  using log = aLog(...three);
  const growing = async (path: string) => {
    const file = (await openBlocks(path))!;
    const read = async (position: number, length: number) => {
      const block = await file.read(position, length);
      appendFileSync(path, `${at(4, 'stdout F more')}\n`);
      return block;
    };
    return {id: file.id, size: () => file.size(), read, [Symbol.asyncDispose]: () => file[Symbol.asyncDispose]()};
  };
  t.is(await textOf(log.read({tailLines: 2}, undefined, growing)), 'two\nthree\n');
});

test('a log that is not there is empty', async t => {
  using log = aLog();
  rmSync(log.path);
  t.is(await textOf(log.read()), '');
  log.isRunning = false;
  t.is(await textOf(log.read({follow: true})), '');
});
