import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {Points} from '#bench/growth/steps.js';
import {Progress} from '#bench/run/progress.js';
import {newestRows, readResults, ResultFile, thisMachine, type Results} from '#bench/run/results.js';
import {curve, row} from '#bench/run/row.js';
import {rowLine, tableOf} from '#bench/run/table.js';
import {aDirectory} from '#test/cli/programs.js';

const machine = {processor: 'test', cores: 2, memoryMb: 1024, platform: 'linux x64', node: 'v20.0.0', loadBefore: 0.5};
const about = (startedAt: string) => ({startedAt, commit: 'abc', machine});

test('a run is kept as a file with its commit, its machine, its rows and its failures', t => {
  const folder = aDirectory();
  const file = new ResultFile(join(folder, 'results'), about('2026-01-02T03:04:05.678Z'));
  file.add('requests', row('GET', 50, '/s', {key: 'get', baseline: 100}));
  file.fail('etcd', 'no etcd');
  file.save('requests', 1.26);

  t.is(file.path, join(folder, 'results', '2026-01-02T03-04-05-678Z-abc.json'));
  t.deepEqual(JSON.parse(readFileSync(file.path, 'utf8')), {
    startedAt: '2026-01-02T03:04:05.678Z',
    commit: 'abc',
    machine,
    rows: [{subject: 'requests', name: 'GET', value: 50, unit: '/s', key: 'get', baseline: 100, ratio: 0.5}],
    failures: [{subject: 'etcd', message: 'no etcd'}],
    seconds: {requests: 1.3},
  });
});

test('the machine of a run has cores, memory, Node.js and the load before', t => {
  const {cores, memoryMb, node, loadBefore} = thisMachine();

  t.true(cores > 0 && memoryMb > 0 && loadBefore >= 0);
  t.is(node, process.version);
});

test('figures come from the newest run that has them, of each server', t => {
  const folder = aDirectory();
  const run = (startedAt: string, rows: Results['rows']) => {
    const file = new ResultFile(folder, about(startedAt));
    for (const each of rows) file.add(each.subject, each);
    file.save('comparison', 1);
  };
  const of = (key: string, value: number, server?: string) => ({
    ...row(key, value, '/s', {key}),
    subject: 'comparison',
    ...(server === undefined ? {} : {server}),
  });
  run('2026-01-01T00:00:00.000Z', [of('create', 1), of('get', 2), of('create', 3, 'original')]);
  run('2026-01-02T00:00:00.000Z', [of('create', 4)]);

  const newest = newestRows(readResults(folder));
  t.deepEqual(
    [...newest].map(([id, {row, of}]) => [id, row.value, of.startedAt.slice(0, 10)]),
    [
      ['get', 2, '2026-01-01'],
      ['create of original', 3, '2026-01-01'],
      ['create', 4, '2026-01-02'],
    ],
  );
});

test('a curve has the points of its axis, and its last value as the figure', t => {
  const points = new Points('objects', {start: {name: 'ready', unit: 'ms'}, memory: {name: 'memory', unit: 'MB'}});
  points.add(1000, {start: 200, memory: 100});
  points.add(10_000, {start: 300});

  t.deepEqual(points.rows(), [
    curve('start', 'ready', 'ms', {axis: 'objects', points: [[1000, 200], [10_000, 300]]}), // prettier-ignore
    curve('memory', 'memory', 'MB', {axis: 'objects', points: [[1000, 100]]}),
  ]);
  t.is(points.rows()[0]!.value, 300);
  t.is(points.rows()[0]!.note, '1,000: 200; 10,000: 300');
});

test('figures stand right-aligned under their titles', t => {
  t.deepEqual(tableOf([row('GET', 1234.5, '/s', {baseline: 2469})]).split('\n'), [
    'what  figure  unit  raw limit  ratio  note',
    'GET    1,235  /s        2,469   50 %',
  ]);
  t.true(rowLine({...row('GET', 1, '/s'), server: 'original'}).startsWith('GET, original'));
});

test('progress is a line for each step, and one line that is rewritten on a terminal', t => {
  const shown = (isTTY: boolean) => {
    const written: string[] = [];
    const progress = new Progress({isTTY, write: text => written.push(text)}, 2);
    progress.begin('growth');
    progress.step('1000 objects');
    progress.end();
    return written.join('');
  };

  t.is(shown(false), '[1/2] growth, 0 s\n[1/2] growth: 1000 objects, 0 s\n');
  t.is(shown(true), '\r\u001B[K[1/2] growth, 0 s\r\u001B[K[1/2] growth: 1000 objects, 0 s\r\u001B[K');
});
