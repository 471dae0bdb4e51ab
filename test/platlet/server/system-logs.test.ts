import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {text as textOf} from 'node:stream/consumers';
import test from 'ava';
import type {ApiResponse} from '#src/api/request.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Journal} from '#src/platlet/system-logs/journal.js';
import {logFolder} from '#src/platlet/system-logs/log-folder.js';
import {systemLogRoutes} from '#src/platlet/system-logs/routes.js';

interface Logs extends Disposable {
  readonly root: string;
  /** Requests a path, and returns the status with the body; for redirections with the place. */
  ask(url: string, headers?: Readonly<Record<string, string>>): Promise<string>;
  raw(url: string): Promise<ApiResponse>;
}

/** A machine without a journal. */
const noJournal: Journal = {
  units: () => Promise.reject(new Error('spawn journalctl ENOENT')),
  read: () => Readable.from([]),
};

const aMachine = (journal?: Journal): Logs => {
  const top = mkdtempSync(join(tmpdir(), 'platlet-logs-'));
  const root = join(top, 'log');
  mkdirSync(join(root, 'pods'), {recursive: true});
  mkdirSync(join(top, 'elsewhere'));
  writeFileSync(join(top, 'secret'), 'secret');
  writeFileSync(join(root, 'syslog'), 'one\ntwo\nthree\n');
  writeFileSync(join(root, 'a&b<c>.log'), '');
  utimesSync(join(root, 'syslog'), 1_600_000_000, 1_600_000_000);
  writeFileSync(join(top, 'elsewhere', '0.log'), 'linked');
  symlinkSync(join(top, 'secret'), join(root, 'escape'));
  symlinkSync('..', join(root, 'up'));
  symlinkSync(join(top, 'elsewhere', '0.log'), join(root, 'pods', 'app.log'));
  execFileSync('mkfifo', [join(root, 'pipe')]);
  const [, route] = systemLogRoutes({folder: logFolder(root, [join(top, 'elsewhere')]), clock: new VirtualClock(), journal});
  const raw = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<ApiResponse> => {
    const [path = '', search = ''] = url.split('?');
    const signal = new AbortController().signal;
    const request = {method: 'GET', url, headers, caller: {user: {name: 'u', groups: []}}, remoteAddress: '', signal};
    return route!.answer({method: 'GET', path, query: new URLSearchParams(search), request});
  };
  return {
    root,
    raw,
    async ask(url, headers) {
      const {status, body, headers: own} = await raw(url, headers);
      if (own['Location']) return `${status} ${String(own['Location'])}`;
      return `${status} ${body.kind === 'stream' ? await textOf(body.source) : body.kind === 'bytes' ? String(body.bytes) : ''}`;
    },
    [Symbol.dispose]: () => rmSync(top, {recursive: true}),
  };
};

test('folders of logs are listed, and files are sent in whole or in part', async t => {
  using logs = aMachine();

  t.regex(await logs.ask('/logs/'), /^200 <!doctype html>.*<a href="pods\/">pods\/<\/a>\n.*<a href="syslog">syslog<\/a>\n/s);
  t.regex(await logs.ask('/logs/'), /<a href="a%26b%3Cc%3E.log">a&amp;b&lt;c&gt;.log<\/a>/);
  t.is(await logs.ask('/logs/syslog'), '200 one\ntwo\nthree\n');
  t.is(await logs.ask('/logs/syslog', {range: 'bytes=4-6'}), '206 two');
  t.is(await logs.ask('/logs/syslog', {range: 'bytes=-6'}), '206 three\n');
  t.is(await logs.ask('/logs/syslog', {range: 'bytes=99-'}), '416 invalid range: failed to overlap\n');
  t.is(await logs.ask('/logs/syslog', {'if-modified-since': 'Sun, 13 Sep 2020 12:26:40 GMT'}), '304 ');
  t.is(await logs.ask('/logs/a%26b%3Cc%3E.log'), '200 ');
  t.is(await logs.ask('/logs/pods'), '301 pods/');
  t.is(await logs.ask('/logs/syslog/'), '301 ../syslog');
  t.is(await logs.ask('/logs/none'), '404 404 page not found\n');
  const {headers} = await logs.raw('/logs/syslog');
  t.like(headers, {'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': '14', 'Last-Modified': 'Sun, 13 Sep 2020 12:26:40 GMT'});
});

test('no path leads out of the logs, and links only to those of pods', async t => {
  using logs = aMachine();

  t.is(await logs.ask('/logs/pods/app.log'), '200 linked');
  for (const path of [
    '../secret',
    '..%2fsecret',
    '%2e%2e/secret',
    'pods/..%2f..%2fsecret',
    'escape',
    'up/secret',
    'up/',
    'syslog/../../secret',
    'pipe',
    'x%00y',
  ])
    t.regex(await logs.ask(`/logs/${path}`), /^404 /, path);
  t.regex(await logs.ask('/logs/..%2f..'), /^(301|200) .*(syslog|\.\.\/)/s);
});

test('a folder with very many names is listed in part', async t => {
  using logs = aMachine();
  const folder = logFolder(logs.root, [], 2);
  t.like(await folder.at('/'), {kind: 'folder', isWhole: false, names: {length: 2}});
});

/** A journal that knows one service, and shows the arguments that it gets. */
const aJournal: Journal = {
  units: () => Promise.resolve('containerd.service\ninit.scope\n'),
  read: args => Readable.from([args.join(' ')]),
};

test('logs of services come from the journal, or from the file that is usually theirs', async t => {
  using logs = aMachine(aJournal);
  writeFileSync(join(logs.root, 'other.log'), 'from a file\n');

  t.is(await logs.ask('/logs/?query=containerd'), '200 --utc --no-pager --output=short-precise --unit=containerd');
  t.is(
    await logs.ask('/logs/?query=containerd&tailLines=5&pattern=a+b&boot=-1&sinceTime=2026-01-01T00:00:00Z&untilTime=2026-01-02T00:00:00Z'),
    '200 --utc --no-pager --output=short-precise --since=2026-01-01 00:00:00 UTC --until=2026-01-02 00:00:00 UTC --pager-end --lines=5 --unit=containerd --grep=a b --case-sensitive=false --boot -1',
  );
  t.is(await logs.ask('/logs/?query=other'), '200 from a file\n');
  t.is(await logs.ask('/logs/?query=missing'), '200 \nlog not found for missing\n');
  t.is(
    await logs.ask('/logs/?query=other&tailLines=1'),
    '200 \noptions present and query resolved to log files for [other]\ntry without specifying options\n',
  );
  t.is(await logs.ask('/logs/?query=/syslog'), '200 one\ntwo\nthree\n');
  t.is(await logs.ask('/logs/syslog'), '200 one\ntwo\nthree\n');
});

test('without a journal the files of services are read', async t => {
  using logs = aMachine(noJournal);
  t.is(await logs.ask('/logs/?query=syslog'), '200 one\ntwo\nthree\n');
  t.is(await logs.ask('/logs/?query=containerd'), '200 \nlog not found for containerd\n');
});

const refusedQueries: readonly (readonly [query: string, answer: string])[] = [
  ['query=%20%20', '400 query: Invalid value: ["  "]: query cannot be empty\n'],
  ['query=a&sinceTime=today', '400 sinceTime: Invalid value: "today": invalid time format\n'],
  ['query=a&boot=x', '400 boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax\n'],
  ['tailLines=1', '406 query: Required value: cannot be empty with options\n'],
  ['query=a&query=/b', '406 query: Invalid value: "[/b], [a]": cannot specify a file and service\n'],
  ['query=/a&query=/b', '406 query: Invalid value: ["/a","/b"]: cannot specify more than one file\n'],
  ['query=/a&tailLines=1', '406 query: Invalid value: ["/a"]: cannot specify file with options\n'],
  ['query=/../secret', '406 query: Invalid value: ["/../secret"]: stat /var/log/../secret: no such file or directory\n'],
  ['query=a;b', '406 query: Invalid value: "a;b": input contains unsupported characters\n'],
  [`query=${'a'.repeat(257)}`, `406 query: Invalid value: "${'a'.repeat(257)}": length must be less than 100\n`],
  ['query=a&query=b&query=c&query=d&query=e', '406 query: Too many: 5: must have at most 4 items\n'],
  ['query=a&boot=1', '406 boot: Invalid value: 1: must be less than 1\n'],
  ['query=a&tailLines=100001', '406 tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive\n'],
  [
    'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z',
    '406 untilTime: Invalid value: 2026-01-01 00:00:00 +0000 UTC: must be after `sinceTime`\n',
  ],
];

for (const [query, answer] of refusedQueries)
  test(`the query ${query.slice(0, 60)} of logs is refused`, async t => {
    using logs = aMachine(aJournal);
    t.is(await logs.ask(`/logs/?${query}`), answer);
  });

test('a query names no path, and is none where queries are off', async t => {
  using logs = aMachine(aJournal);
  t.is(await logs.ask('/logs/syslog?query=a'), '406 path not allowed in query mode\n');
  using off = aMachine();
  t.is(await off.ask('/logs/syslog?query=a'), '200 one\ntwo\nthree\n');
});

test('only so many logs are read at a time', async t => {
  using logs = aMachine();
  const open: ApiResponse[] = [];
  for (let count = 0; count < 64; count++) open.push(await logs.raw('/logs/syslog'));
  t.is(await logs.ask('/logs/syslog'), '503 too many logs are being read\n');

  await Promise.all(open.map(({body}) => (body.kind === 'stream' ? textOf(body.source) : '')));
  t.is(await logs.ask('/logs/syslog'), '200 one\ntwo\nthree\n');
});

test('a query of very many services is refused with few words', async t => {
  using logs = aMachine(aJournal);
  const answer = await logs.ask(`/logs/?${'query=a;b&'.repeat(10_000)}`);
  t.regex(answer, /^406 .*Too many: 10000/);
  t.true(answer.length < 1000);
});
