import {copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {comparedRows, timesBetter} from '#bench/comparison/compared-rows.js';
import {axes} from '#bench/growth/growth.js';
import {sharesOf} from '#bench/load/profile.js';
import {readFigures, reportOf, writeReport} from '#bench/plots/report.js';
import {agentSection, comparisonSection, growthSection, profileSection, withSection} from '#bench/plots/sections.js';
import {newestRows, runsOf, type Results} from '#bench/run/results.js';
import {curve, row, type Row} from '#bench/run/row.js';
import {subjects} from '#bench/subjects.js';
import {aDirectory} from '#test/cli/programs.js';
import {root} from '#test/sources.js';

const page = readFileSync(join(root, 'docs/performance.md'), 'utf8');

const aRun = (...rows: Row[]): Results => ({
  startedAt: '2026-01-01T00:00:00.000Z',
  commit: 'abc',
  machine: {processor: 'test', cores: 2, memoryMb: 1024, platform: 'linux x64', node: 'v20.0.0', loadBefore: 0},
  rows: rows.map(row => ({subject: 'comparison', ...row})),
  failures: [],
  seconds: {},
});
const lineOf = (table: string, key: string) => table.split('\n').find(line => line.startsWith(`| \`${key}\``));

test('a row of the comparison stands beside the original of the same run, with its rounds and its goal', t => {
  const rows = [
    {...row('get', 8000, '/s', {key: 'get', note: 'median 4 ms'}), rounds: [7000, 8000, 9000]},
    {...row('get', 2000, '/s', {key: 'get'}), rounds: [1900, 2000, 2100], server: 'original'},
    row('list', 200, 'ms', {key: 'list'}),
    {...row('list', 400, 'ms', {key: 'list', note: '18 MB'}), server: 'original'},
    row('again', 700, 'ms', {key: 'ready-loaded'}),
  ];
  const table = comparisonSection(newestRows([aRun(...rows)]));

  t.is(
    lineOf(table, 'get'),
    '| `get` | GET, 64 at once | **8,000/s (7,000 to 9,000)** | 2,000/s (1,900 to 2,100) | 4× | 3× | reached; median 4 ms |',
  );
  t.is(lineOf(table, 'list'), '| `list` | LIST of all | **200 ms** | 400 ms | 2× | 3× | below; original: 18 MB |');
  t.regex(lineOf(table, 'ready-loaded')!, /\*\*700 ms\*\* \|  \|  \| 800 ms \| reached \|$/);
  t.is(lineOf(table, 'create'), '| `create` | create, 64 at once | not measured |  |  | 3× |  |');
});

test('a figure of another run of the original is no quotient', t => {
  const other = {...aRun({...row('get', 4000, '/s', {key: 'get'}), server: 'original'}), startedAt: '2025-01-01T00:00:00.000Z'};

  t.is(
    lineOf(comparisonSection(newestRows([other, aRun(row('get', 8000, '/s', {key: 'get'}))])), 'get'),
    '| `get` | GET, 64 at once | **8,000/s** |  |  | 3× |  |',
  );
});

test('a figure of less than the goals are of is neither compared nor judged', t => {
  const rows = [
    row('pods', 1, 's', {key: 'pods-ready', note: '2,000 pods', isReduced: true}),
    {...row('pods', 2, 's', {key: 'pods-ready'}), server: 'original'},
  ];

  t.is(
    lineOf(comparisonSection(newestRows([aRun(...rows)])), 'pods-ready'),
    '| `pods-ready` | a Deployment on them ready | **1 s** |  |  | 9 s | reduced; 2,000 pods |',
  );
});

test('the figures of the agent stand beside those of the container runtime, in their order', t => {
  const rows = [
    row('memory of the agent with 50 pods', 107, 'MB', {key: 'agent-memory-50'}),
    row('50 pods at once until all run', 8, 's', {key: 'agent-pods', baseline: 4.8}),
    row('pod created to running', 269, 'ms', {key: 'agent-pod', baseline: 172, note: 'p99 456 ms'}),
  ].map(each => ({...each, subject: 'agent'}));

  t.deepEqual(
    agentSection(newestRows([aRun(...rows)]))
      .split('\n')
      .slice(2),
    [
      '| `agent-pod` | pod created to running | **269 ms** | 172 ms | p99 456 ms |',
      '| `agent-pods` | 50 pods at once until all run | **8 s** | 4.8 s |  |',
      '| `agent-memory` | memory of the agent with 50 pods | **107 MB** |  |  |',
    ],
  );
});

test('a profile is the share of the parts of the server in the time that the thread worked', t => {
  const callFrame = (functionName: string, url: string) => ({functionName, scriptId: '0', url, lineNumber: 0, columnNumber: 0});
  const nodes = [
    {name: '(root)', source: '', children: [1, 2, 4]},
    {name: '(idle)', source: ''},
    {name: 'decode', source: 'src/schema/decode/decode.ts', children: [3]},
    {name: 'own', source: 'src/base/own.ts'},
    {name: 'respond', source: 'node:internal/http2/core', children: [5]},
    {name: '(garbage collector)', source: ''},
  ].map(({name, source, children = []}, id) => ({id, callFrame: callFrame(name, source), children}));
  const {busy, shares} = sharesOf({nodes, startTime: 0, endTime: 1, samples: [1, 2, 3, 3, 4, 5, 1, 1, 1, 1]}, ({url}) => url);

  t.is(busy, 50);
  t.deepEqual(shares, [
    ['parsing and decoding', 60],
    ['HTTP/2, TLS and streams', 20],
    ['(garbage collector)', 20],
  ]);
  const profile = {...row('busy', busy, '%', {key: 'profile-create'}), profile: shares};
  t.is(
    lineOf(profileSection(newestRows([aRun(profile)])), 'create'),
    '| `create` | 50 % | parsing and decoding 60 %, HTTP/2, TLS and streams 20 %, (garbage collector) 20 % |',
  );
});

test('more of a rate is better, and less of a time', t => {
  t.is(timesBetter('/s', 300, 100), 3);
  t.is(timesBetter('ms', 100, 300), 3);
});

test('a curve is a line of a table with a column for each size, below its plot', t => {
  const series = {axis: 'watchers', points: [[1, 2], [1000, 31.4]] as const}; // prettier-ignore

  t.deepEqual(growthSection('growth-watchers', newestRows([aRun(curve('watchers-p99', 'delay', 'ms', series))])).split('\n'), [
    '![growth-watchers](performance/growth-watchers.svg)',
    '',
    '| row | watchers | 1 | 1,000 |',
    '| --- | --- | --- | --- |',
    '| `watchers-p99` | delay, ms | 2 | 31 |',
  ]);
  t.is(growthSection('growth-nodes', new Map()), 'Not measured yet.');
});

test('a section is replaced between its markers, and must be there', t => {
  t.is(withSection('a <!-- begin x -->old<!-- end x --> b', 'x', 'new'), 'a <!-- begin x -->\n\nnew\n\n<!-- end x --> b');
  t.throws(() => withSection('nothing', 'x', 'new'), {message: /no section x/});
});

test('the rows that the page on performance names can be measured', t => {
  const known = new Set([
    ...subjects.flatMap(({name, rows = []}) => [name, ...rows]),
    ...Object.values(axes).flatMap(({curves}) => Object.keys(curves)),
  ]);
  const named = [...page.matchAll(/^\| `([a-z][\w-]*)` \|/gm)].map(([, name = '']) => name);
  const selected = [...page.matchAll(/ROWS=([\w,-]+)/g)].flatMap(([, names = '']) => names.split(','));

  t.true(named.length > 30, String(named.length));
  t.deepEqual(
    [...named, ...selected].filter(name => !known.has(name)),
    [],
  );
});

test('every row of the comparison belongs to a subject', t => {
  const known = new Set(subjects.flatMap(({rows = []}) => rows));

  t.deepEqual(
    Object.keys(comparedRows).filter(key => !known.has(key)),
    [],
  );
});

test('the plots that the page on performance shows are there', t => {
  const plots = [...page.matchAll(/!\[[^\]]*\]\((performance\/[\w-]+\.svg)\)/g)].map(([, path = '']) => path);

  t.true(plots.length > 0);
  t.deepEqual(
    plots.filter(path => !existsSync(join(root, 'docs', path))),
    [],
  );
});

test('the page on performance and its plots are what its figures make', t => {
  const {text, plots} = reportOf(page, newestRows(readFigures(root)));

  t.is(text, page, 'make plots writes it');
  for (const [name, svg] of Object.entries(plots)) t.is(readFileSync(join(root, `docs/performance/${name}.svg`), 'utf8'), svg, name);
});

test('figures of the page stay when another checkout measures some rows, and older ones do not come back', t => {
  const checkout = aDirectory();
  const results = join(checkout, 'results');
  mkdirSync(join(checkout, 'docs/performance'), {recursive: true});
  for (const file of ['performance.md', 'performance/figures.json']) copyFileSync(join(root, 'docs', file), join(checkout, 'docs', file));
  const written = () => readFileSync(join(checkout, 'docs/performance.md'), 'utf8');

  writeReport(results, checkout);
  t.is(written(), page, 'there are no results');

  mkdirSync(results);
  for (const [year, value] of [
    [2000, 1],
    [2999, 4000],
  ] as const)
    // prettier-ignore
    writeFileSync(
      join(results, `${3000 - year}.json`),
      JSON.stringify({...aRun(row('create', value, '/s', {key: 'create'})), startedAt: `${year}-01-01T00:00:00.000Z`}),
    );
  writeReport(results, checkout);
  t.regex(lineOf(written(), 'create')!, /\*\*4,000\/s\*\*/);
  t.is(lineOf(written(), 'get'), lineOf(page, 'get'));
  t.is(lineOf(written(), 'objects-list'), lineOf(page, 'objects-list'));
  t.is(readFigures(checkout).at(-1)?.startedAt, '2999-01-01T00:00:00.000Z');
});

test('the runs of the newest rows have these rows alone', t => {
  const older = {...aRun(row('a', 1, 'ms'), row('b', 2, 'ms')), failures: [{subject: 'etcd', message: 'none'}]};
  const newer = {...aRun(row('b', 3, 'ms')), startedAt: '2026-01-02T00:00:00.000Z'};

  t.deepEqual(
    runsOf(newestRows([newer, older])).map(({startedAt, rows, failures}) => [
      startedAt.slice(8, 10),
      rows.map(({value}) => value),
      failures,
    ]),
    [
      ['01', [1], []],
      ['02', [3], []],
    ],
  );
});
