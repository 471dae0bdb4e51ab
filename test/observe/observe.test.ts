import test from 'ava';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {HealthChecks} from '#src/observe/health.js';
import {createLog} from '#src/observe/log.js';
import {idleMs} from '#src/observe/idle-series.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {UnhandledErrors} from '#src/observe/unhandled.js';
import {Verbosity} from '#src/observe/verbosity.js';

const noon = new Date(2026, 10, 20, 12, 34, 56, 789).getTime();

const logging = (verbosity = new Verbosity()) => {
  const lines: string[] = [];
  const log = createLog({
    clock: {now: () => noon},
    program: 'plat-controller-manager',
    pid: 4711,
    verbosity,
    write: line => lines.push(line),
  });
  return {log, lines};
};

test('a line has the header of the field, a quoted message and its fields', t => {
  const {log, lines} = logging();

  log.info('started');
  log
    .child({component: 'ttl-controller', controller: 'ttl-controller'})
    .warn({key: 'a/b', count: 3, ok: true, none: null, list: ['x']}, 'odd');
  log.error('broken');

  t.deepEqual(lines, [
    'I1120 12:34:56.789000    4711 plat-controller-manager] "started"\n',
    'W1120 12:34:56.789000    4711 ttl-controller] "odd" controller="ttl-controller" key="a/b" count=3 ok=true none=<nil> list=["x"]\n',
    'E1120 12:34:56.789000    4711 plat-controller-manager] "broken"\n',
  ]);
});

test('a log line is a JSON object where configured, with the usual keys', t => {
  const lines: string[] = [];
  const log = createLog({
    clock: {now: () => noon + 0.25},
    program: 'plat-apiserver',
    verbosity: new Verbosity(4),
    format: 'json',
    write: line => lines.push(line),
  });

  log.child({component: 'ttl-controller'}).info({key: 'a/b', token: 'abc'}, 'said');
  log.v(4).info({count: 3}, 'detail');
  log.warn('odd');
  log.error({err: new Error('could not sign', {cause: new Error('gone')}), key: 'a'}, 'failed');

  t.deepEqual(lines, [
    `{"ts":${noon}.25,"logger":"ttl-controller","msg":"said","v":0,"key":"a/b","token":"[redacted]"}\n`,
    `{"ts":${noon}.25,"logger":"plat-apiserver","msg":"detail","v":4,"count":3}\n`,
    `{"ts":${noon}.25,"logger":"plat-apiserver","msg":"odd","v":0}\n`,
    `{"ts":${noon}.25,"logger":"plat-apiserver","msg":"failed","err":"could not sign: gone","key":"a"}\n`,
  ]);
});

test('a quiet log has errors alone, and one for a terminal colours warnings and errors', t => {
  const lines: string[] = [];
  const log = createLog({clock: {now: () => noon}, program: 'plat', pid: 1, quiet: true, colour: true, write: line => lines.push(line)});
  log.info('fine');
  log.warn('odd');
  log.error('broken');

  t.deepEqual(lines, ['\x1b[31mE1120 12:34:56.789000       1 plat] "broken"\x1b[0m\n']);
});

test('an error is one line with its causes, and no stack', t => {
  const {log, lines} = logging();

  log.error({err: new Error('could not sign', {cause: new Error('the key\nis gone')})}, 'failed');

  t.is(lines[0], 'E1120 12:34:56.789000    4711 plat-controller-manager] "failed" err="could not sign: the key\\nis gone"\n');
});

test('secrets do not reach a line, wherever a field hides them', t => {
  const {log, lines} = logging();

  log.child({token: 'abc'}).info({user: {password: 'abc'}, request: {headers: {authorization: 'Bearer abc'}}}, 'called');

  t.false(lines[0]!.includes('abc'));
  t.is(lines[0]!.match(/\[redacted\]/g)?.length, 3);
});

test('a field that JSON refuses does not lose its line, and secrets are hidden at any depth', t => {
  const {log, lines} = logging();
  const circular: Record<string, unknown> = {deep: {deeper: {deepest: {token: 'abc'}}}};
  circular['self'] = circular;

  log.info({circular, big: 2n ** 64n, none: NaN, skipped: undefined}, 'odd values');

  t.is(
    lines[0],
    'I1120 12:34:56.789000    4711 plat-controller-manager] "odd values" ' +
      'circular={"deep":{"deeper":{"deepest":{"token":"[redacted]"}}},"self":"[Circular]"} big=18446744073709551616 none=<nil>\n',
  );
});

test('a field of a line replaces the field of its component with the same name', t => {
  const {log, lines} = logging();

  log.child({key: 'a', kind: 'Pod'}).info({key: 'b'}, 'seen');

  t.true(lines[0]!.endsWith('] "seen" key="b" kind="Pod"\n'), lines[0]);
});

test('details are logged up to the verbosity, by pattern of the source, changeable at run time', t => {
  const verbosity = new Verbosity(2, 'ttl-*=5,gc=0');
  const {log, lines} = logging(verbosity);
  const sources = () => {
    lines.length = 0;
    for (const source of ['other', 'ttl-controller', 'gc']) {
      for (const level of [0, 1, 2, 5, 6]) log.child({component: source}).v(level).info('said');
    }
    return lines.map(line => line.split(']')[0]!.split(' ').at(-1));
  };

  t.deepEqual(sources(), ['other', 'other', 'other', 'ttl-controller', 'ttl-controller', 'ttl-controller', 'ttl-controller', 'gc']);
  verbosity.level = 0;
  t.deepEqual(
    sources().filter(source => source === 'other'),
    ['other'],
  );
  t.throws(() => new Verbosity(0, 'ttl'), {message: '"ttl" is not of the form pattern=N'});
});

test('counters, gauges and histograms appear in the text format', async t => {
  const metrics = new MetricsRegistry();
  const requests = metrics.counter({name: 'requests_total', help: 'Requests.', labels: ['verb', 'code']});
  requests.add({verb: 'GET', code: '200'});
  requests.add({verb: 'GET', code: '200'}, 2);
  metrics.counter({name: 'plain_total', help: 'Plain.'});
  const gauge = metrics.gauge({name: 'depth', help: 'Depth.', labels: ['name']});
  gauge.set(3, {name: 'a"b'});
  gauge.set(1, {name: 'gone'});
  gauge.remove({name: 'gone'});
  metrics.histogram({name: 'took_seconds', help: 'Took.', buckets: [0.1, 1]}).observe(0.5);
  const first = await metrics.exposition();
  metrics.gauge({name: 'late', help: 'Late.'}).set(1);

  t.regex(first.contentType, /^text\/plain; version=0\.0\.4/);
  t.deepEqual(
    first.body.split('\n').filter(line => line && !line.startsWith('#')),
    [
      'requests_total{verb="GET",code="200"} 3',
      'plain_total 0',
      'depth{name="a\\"b"} 3',
      'took_seconds_bucket{le="0.1"} 0',
      'took_seconds_bucket{le="1"} 1',
      'took_seconds_bucket{le="+Inf"} 1',
      'took_seconds_sum 0.5',
      'took_seconds_count 1',
    ],
  );
  t.true((await metrics.exposition()).body.includes('late 1'));
});

test('a gauge may be computed when read; several readers of one series add up and can be removed', async t => {
  const metrics = new MetricsRegistry();
  const spec = {name: 'age_seconds', help: 'Age.', labels: ['name']};
  const one = metrics.observed(spec, () => [[{name: 'a'}, 1]]);
  metrics.observed(spec, () => [
    [{name: 'a'}, 2],
    [{name: 'b'}, 5],
  ]);
  t.deepEqual([metrics.value('age_seconds', {name: 'a'}), metrics.value('age_seconds', {name: 'b'})], [3, 5]);

  one[Symbol.dispose]();

  t.is(metrics.value('age_seconds', {name: 'a'}), 2);
});

test('two registries know nothing of each other, one name is one metric, and another type under it is refused', t => {
  const [a, b] = [new MetricsRegistry(), new MetricsRegistry()];
  const spec = {name: 'n_total', help: 'N.'};

  a.counter(spec).add();
  a.counter(spec).add();

  t.deepEqual([a.value('n_total'), b.value('n_total')], [2, undefined]);
  t.throws(() => a.gauge(spec), {message: 'metric n_total is a counter already'});
});

test('metrics of several components are one exposition, in which no family and no series is repeated', async t => {
  const [first, second] = [new MetricsRegistry({process: true}), new MetricsRegistry({process: true})];
  for (const metrics of [first, second]) {
    metrics.counter({name: 'calls_total', help: 'Calls.', labels: ['of']}).add({of: 'both'});
    metrics.gauge({name: 'build', help: 'Build.'}).set(1);
    metrics.histogram({name: 'took_seconds', help: 'Took.', buckets: [1]}).observe(2);
  }
  second.counter({name: 'calls_total', help: 'Calls.', labels: ['of']}).add({of: 'second'});
  second.gauge({name: 'alone', help: 'Alone.'}).set(7);
  const lines = (await first.exposition([second])).body.split('\n');

  t.deepEqual(
    lines.filter(line => /^(calls_total|build|took_seconds|alone)/.test(line)),
    [
      'calls_total{of="both"} 2',
      'calls_total{of="second"} 1',
      'build 1',
      'took_seconds_bucket{le="1"} 0',
      'took_seconds_bucket{le="+Inf"} 2',
      'took_seconds_sum 4',
      'took_seconds_count 2',
      'alone 7',
    ],
  );
  const types = lines.filter(line => line.startsWith('# TYPE'));
  t.is(new Set(types).size, types.length);
  t.true(types.includes('# TYPE process_start_time_seconds gauge'));
});

test('a disabled metric is neither kept nor shown, a reset one starts over', async t => {
  const metrics = new MetricsRegistry({disabled: ['off_total']});

  metrics.counter({name: 'off_total', help: 'Off.'}).add();
  metrics.counter({name: 'on_total', help: 'On.', labels: ['x']}).add({x: '1'});
  metrics.reset();

  t.false(/(?:off|on)_total[ {]/.test((await metrics.exposition()).body.replaceAll(/^#.*$/gm, '')));
});

test('process metrics are exported where enabled', async t => {
  t.regex((await new MetricsRegistry({process: true}).exposition()).body, /^process_start_time_seconds \d/m);
});

const checking = () => {
  const checks = new HealthChecks(noLog);
  let failure: Error | undefined;
  checks.add('ping', () => {});
  checks.add('store', () => {
    if (failure) throw failure;
  });
  return {checks, fail: (error?: Error) => void (failure = error)};
};

test('health answers ok, or line by line with verbose', async t => {
  const {checks} = checking();

  t.deepEqual(await checks.all('livez'), {status: 200, body: 'ok'});
  t.deepEqual(await checks.all('livez', {verbose: true}), {status: 200, body: '[+]ping ok\n[+]store ok\nlivez check passed\n'});
});

test('a failing check fails the whole, is named, and keeps its reason to itself', async t => {
  const {checks, fail} = checking();
  fail(new Error('password abc is wrong'));

  t.deepEqual(await checks.all('readyz'), {status: 500, body: '[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n'});
  t.deepEqual(await checks.all('readyz', {exclude: ['store']}), {status: 200, body: 'ok'});
  t.deepEqual(await checks.all('readyz', {exclude: ['store', 'x', 'x', 'y'], verbose: true}), {
    status: 200,
    body: '[+]ping ok\n[+]store excluded: ok\nwarn: some health checks cannot be excluded: no matches for "x","y"\nreadyz check passed\n',
  });
});

test('one check is answered alone, with its reason', async t => {
  const {checks, fail} = checking();

  t.deepEqual(await checks.one('store'), {status: 200, body: 'ok'});
  fail(new Error('closed'));
  t.deepEqual(await checks.one('store'), {status: 500, body: 'internal server error: closed\n'});
  t.is(await checks.one('nothing'), undefined);
});

test('a check can be removed, and one that replaced it stays', t => {
  const checks = new HealthChecks(noLog);
  const first = checks.add('a', () => {});
  checks.add('a', () => {});

  first[Symbol.dispose]();

  t.deepEqual(checks.names, ['a']);
});

test('one series of a metric counts with the whole', t => {
  const meter = new MetricsRegistry();
  const counter = meter.counter({name: 'asked_total', help: 'Asked.', labels: ['by']});
  const histogram = meter.histogram({name: 'took_seconds', help: 'Took.', labels: ['by'], buckets: [1]});
  const [one, times] = [counter.at({by: 'a'}), histogram.at({by: 'a'})];
  one.add();
  one.add(2);
  counter.add({by: 'a'});
  times.observe(0.5);
  histogram.observe(2, {by: 'a'});
  t.deepEqual([meter.value('asked_total', {by: 'a'}), meter.value('took_seconds', {by: 'a'})], [4, 2]);

  meter.reset();
  one.add();
  t.is(meter.value('asked_total', {by: 'a'}), 1);
});

test('an error that no caller can receive is logged with its origin, and counted', t => {
  const {log, lines} = logging();
  const metrics = new MetricsRegistry();
  const unhandled = new UnhandledErrors(log);
  unhandled.countIn(metrics);
  unhandled.handle(new Error('broken', {cause: new Error('torn')}));
  unhandled.handle('thrown by a library');

  t.regex(lines[0]!, /^E1120 .*\] "Unhandled Error" err="broken: torn" stack="Error: broken\\n .*\.test\.[jt]s/);
  t.regex(lines[1]!, /\] "Unhandled Error" err="thrown by a library"$/m);
  t.is(metrics.value('unhandled_errors_total'), 2);
});

test('a log that fails does not make an error handler fail', t => {
  const fail = () => {
    throw new Error('the disk is full');
  };

  t.notThrows(() => new UnhandledErrors({...noLog, error: fail}).handle(new Error('broken')));
});

test('an exposition of many series is formatted some lines at a time, and others have a turn between them', async t => {
  const registry = new MetricsRegistry();
  const counter = registry.counter({name: 'many_total', help: 'Many.', labels: ['n']});
  for (let index = 0; index < 5_000; index++) counter.add({n: `${index}`});
  await registry.encoded();
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);

  const {bytes} = await registry.encoded();
  isOver = true;

  t.is(bytes.toString().match(/^many_total/gm)?.length, 5_000);
  t.true(turns >= 10, `${turns} turns`);
});

test('series of a histogram by kind are hidden while they do not change, and come back with their whole value', async t => {
  const clock = new VirtualClock();
  const registry = new MetricsRegistry({clock});
  const specs = {help: 'Durations.', labels: ['resource'], buckets: [1]};
  const byKind = registry.histogram({name: 'by_kind', ...specs, hidesIdle: true});
  const always = registry.histogram({name: 'always', ...specs});
  const shown = async () => (await registry.exposition()).body.match(/^\w+_count.*$/gm) ?? [];
  for (const histogram of [byKind, always]) for (const resource of ['idle', 'busy']) histogram.observe(0.5, {resource});

  t.is((await shown()).length, 4);
  await clock.advance(idleMs - 1);
  byKind.observe(0.5, {resource: 'busy'});
  t.is((await shown()).length, 4);
  await clock.advance(1);
  const kept = ['always_count{resource="idle"} 1', 'always_count{resource="busy"} 1'];
  t.deepEqual((await shown()).sort(), ['by_kind_count{resource="busy"} 2', ...kept].sort());
  byKind.observe(2, {resource: 'idle'});
  t.deepEqual((await shown()).sort(), ['by_kind_count{resource="busy"} 2', 'by_kind_count{resource="idle"} 2', ...kept].sort());
});
