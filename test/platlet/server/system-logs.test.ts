import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {buffer, text as textOf} from 'node:stream/consumers';
import {gunzipSync} from 'node:zlib';
import test from 'ava';
import {discard, type ApiResponse} from '#src/api/request.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Journal} from '#src/platlet/system-logs/journal.js';
import {logFolder} from '#src/platlet/system-logs/log-folder.js';
import {systemLogRoutes} from '#src/platlet/system-logs/routes.js';

interface Logs extends Disposable {
  readonly root: string;
  /** Requests a path, and returns the status with the body; for redirections with the place. */
  ask(url: string, headers?: Readonly<Record<string, string>>): Promise<string>;
  raw(url: string, headers?: Readonly<Record<string, string>>): Promise<ApiResponse>;
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
  const whole = await logs.raw('/logs/syslog');
  discard(whole);
  t.like(whole.headers, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': '14',
    'Last-Modified': 'Sun, 13 Sep 2020 12:26:40 GMT',
  });
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
    '200 --utc --no-pager --output=short-precise --since=2026-01-01 00:00:00 UTC --until=2026-01-02 00:00:00 UTC --pager-end --lines=5 --unit=containerd --grep=a b --boot -1',
  );
  t.is(await logs.ask('/logs/?query=other'), '200 from a file\n');
  t.is(await logs.ask('/logs/?query=missing'), '200 \nlog not found for missing\n');
  t.is(
    await logs.ask('/logs/?query=other&tailLines=1'),
    '200 \noptions present and query resolved to log files for [other]\ntry without specifying options\n',
  );
  t.is(await logs.ask('/logs/?query=./syslog'), '200 one\ntwo\nthree\n');
  t.is(await logs.ask('/logs/?query=./pods'), '301 pods/?query=./pods');
  t.regex(await logs.ask('/logs/?query=pods/'), /^200 .*app\.log/s);
  t.is(await logs.ask('/logs/syslog'), '200 one\ntwo\nthree\n');
});

test('without a journal the files of services are read', async t => {
  using logs = aMachine(noJournal);
  t.is(await logs.ask('/logs/?query=syslog'), '200 one\ntwo\nthree\n');
  t.is(await logs.ask('/logs/?query=containerd'), '200 \nlog not found for containerd\n');
});

test('the log of a service is not one that a link leads to elsewhere', async t => {
  using logs = aMachine(noJournal);
  symlinkSync('syslog', join(logs.root, 'near.log'));
  t.is(await logs.ask('/logs/?query=near'), '200 one\ntwo\nthree\n');
  t.is(await logs.ask('/logs/?query=escape'), '200 \nerror getting log for escape: openat escape: path escapes from parent\n');
  t.is(await logs.ask('/logs/?query=..'), '200 \nerror getting log for ..: openat ..: path escapes from parent\n');
  t.is(await logs.ask('/logs/?query=pods'), '200 \nlog not found for pods\n');
});

test('a journal that cannot be read is said, but not of an earlier boot', async t => {
  const broken: Journal = {
    units: () => Promise.resolve('containerd.service\n'),
    read() {
      throw new Error('spawn journalctl ENOENT');
    },
  };
  using logs = aMachine(broken);
  t.is(await logs.ask('/logs/?query=containerd'), '200 \nerror: journal output not available\n');
  t.is(await logs.ask('/logs/?query=containerd&boot=0'), '200 \nerror: journal output not available\n');
  t.is(await logs.ask('/logs/?query=containerd&boot=-1'), '200 ');
});

test('logs of services are compressed for a client that takes nothing else', async t => {
  using logs = aMachine(noJournal);
  const ask = (encoding: string) => logs.raw('/logs/?query=syslog', {'accept-encoding': encoding});
  const {headers, body} = await ask('gzip');
  t.is(headers?.['Content-Encoding'], 'gzip');
  t.is(String(gunzipSync(await buffer((body as {source: Readable}).source))), 'one\ntwo\nthree\n');
  const plain = await ask('gzip, deflate');
  t.is(plain.headers?.['Content-Encoding'], undefined);
  t.is(await textOf((plain.body as {source: Readable}).source), 'one\ntwo\nthree\n');
});

const refusedQueries: readonly (readonly [query: string, answer: string])[] = [
  ['query', '400 query: Invalid value: [""]: may not be empty\n'],
  ['query=%20%20&query=', '400 query: Invalid value: ["  ",""]: may not be empty\n'],
  [
    'query=&untilTime=2026-02-30T00:00:00Z&sinceTime=1&tailLines=&boot=%20',
    '400 [query: Invalid value: [""]: may not be empty, sinceTime: Invalid value: "1": invalid time format, untilTime: Invalid value: "2026-02-30T00:00:00Z": invalid time format, boot: Invalid value: " ": strconv.Atoi: parsing " ": invalid syntax]\n',
  ],
  ['query=a&sinceTime=today', '400 sinceTime: Invalid value: "today": invalid time format\n'],
  ['query=a&boot=x', '400 boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax\n'],
  [
    'query=a&boot=9223372036854775808',
    '400 boot: Invalid value: "9223372036854775808": strconv.Atoi: parsing "9223372036854775808": value out of range\n',
  ],
  ['query=a&tailLines=9223372036854775807', '406 tailLines: Invalid value: 9223372036854775807: must be between 0 and 100000, inclusive\n'],
  ['query=a&tailLines=-1', '406 tailLines: Invalid value: -1: must be between 0 and 100000, inclusive\n'],
  ['tailLines=1', '406 query: Required value: cannot be empty with options\n'],
  ['query=a&query=/b', '406 query: Invalid value: "[/b], [a]": cannot specify a file and service\n'],
  ['query=/a&query=/b', '406 query: Invalid value: ["/a","/b"]: cannot specify more than one file\n'],
  ['query=/a&tailLines=1', '406 query: Invalid value: ["/a"]: cannot specify file with options\n'],
  ['query=/syslog', '406 query: Invalid value: ["/syslog"]: statat /syslog: path escapes from parent\n'],
  ['query=../secret', '406 query: Invalid value: ["../secret"]: statat ../secret: path escapes from parent\n'],
  ['query=pods/../../secret', '406 query: Invalid value: ["pods/../../secret"]: statat pods/../../secret: path escapes from parent\n'],
  ['query=pods/app.log', '406 query: Invalid value: ["pods/app.log"]: statat pods/app.log: path escapes from parent\n'],
  ['query=up/secret', '406 query: Invalid value: ["up/secret"]: statat up/secret: path escapes from parent\n'],
  ['query=none/a', '406 query: Invalid value: ["none/a"]: statat none/a: no such file or directory\n'],
  ['query=./syslog/', '406 query: Invalid value: ["./syslog/"]: statat ./syslog/: not a directory\n'],
  ['query=syslog/a', '406 query: Invalid value: ["syslog/a"]: statat syslog/a: not a directory\n'],
  ['query=\\syslog', '406 query: Invalid value: ["\\\\syslog"]: statat \\syslog: no such file or directory\n'],
  ['query=./x%00', '406 query: Invalid value: ["./x\\u0000"]: statat ./x\0: invalid argument\n'],
  ['query=a%3Bb', '406 query: Invalid value: "a;b": input contains unsupported characters\n'],
  [`query=${'a'.repeat(257)}`, `406 query: Invalid value: "${'a'.repeat(257)}": length must be less than 100\n`],
  ['query=a&query=b&query=c&query=d&query=e', '406 query: Too many: 5: must have at most 4 items\n'],
  ['query=a&boot=1', '406 boot: Invalid value: 1: must be less than 1\n'],
  ['query=a&tailLines=100001', '406 tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive\n'],
  [
    'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z',
    '406 untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after `sinceTime`\n',
  ],
  [
    'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T5:00:00,250%2B02:00',
    '406 untilTime: Invalid value: "2026-01-01T05:00:00.25+02:00": must be after `sinceTime`\n',
  ],
  ['query=a&pattern=foo%5C', '406 pattern: Invalid value: "foo\\\\": error parsing regexp: trailing backslash at end of expression: ``\n'],
  ['query=a&pattern=(', '406 pattern: Invalid value: "(": error parsing regexp: missing closing ): `(`\n'],
  [
    'query=a%20b&query=c&boot=1&tailLines=-1&pattern=a**',
    '406 [query: Invalid value: "a b": input contains unsupported characters, boot: Invalid value: 1: must be less than 1, tailLines: Invalid value: -1: must be between 0 and 100000, inclusive, pattern: Invalid value: "a**": error parsing regexp: invalid nested repetition operator: `**`]\n',
  ],
];

for (const [query, answer] of refusedQueries)
  test(`the query ${query.slice(0, 60)} (${query.length}) of logs is refused`, async t => {
    using logs = aMachine(aJournal);
    t.is(await logs.ask(`/logs/?${query}`), answer);
  });

test('the name of a service may have the characters of unit names', async t => {
  using logs = aMachine(aJournal);
  t.is(await logs.ask('/logs/?query=get_ty@tty1.a:b-C'), '200 \nlog not found for get_ty@tty1.a:b-C\n');
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
