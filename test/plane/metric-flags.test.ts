import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {maxSeries} from '#src/observe/series.js';
import {startPlane} from '#src/plane/plane.js';
import {wire} from '#test/apiserver/wire.js';

const folder = mkdtempSync(join(tmpdir(), 'plat-metric-flags-'));
test.after.always(() => rmSync(folder, {recursive: true}));

const file = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

const quiet = {naming: 'plat', listen: false, controllerManagerArgs: ['--controllers=']} as const;

/** Returns the lines of a metric. */
const series = (text: string, name: string): string[] => text.split('\n').filter(line => line.startsWith(name));

test('label values outside the allow-lists of the flag and of the manifest are counted as unexpected, in each component', async t => {
  const manifest = file('labels.yaml', '"scheduler_pending_pods,queue": active,gated\n');
  await using plane = await startPlane({
    ...quiet,
    clock: new VirtualClock(),
    apiserverArgs: ['--allow-metric-labels=apiserver_request_total,verb=GET', '--allow-metric-labels=apiserver_request_total,code=200,404'],
    controllerManagerArgs: [
      '--controllers=',
      '--allow-metric-labels=running_managed_controllers,name=other',
      `--allow-metric-labels-manifest=${manifest}`,
    ],
    schedulerArgs: [`--allow-metric-labels-manifest=${manifest}`],
  });
  const {get, post} = wire(plane.api.handler);
  await get('/api/v1/namespaces/default');
  await post('/api/v1/namespaces', {metadata: {name: 'Not valid'}});
  const {text} = await get('/metrics');

  const requests = series(text, 'apiserver_request_total{');
  t.true(requests.some(line => line.includes('verb="GET"') && line.includes('code="200"')));
  t.true(requests.some(line => line.includes('verb="unexpected"') && line.includes('code="unexpected"')));
  t.false(requests.some(line => line.includes('verb="POST"') || line.includes('code="201"')));
  t.true(series(text, 'apiserver_request_duration_seconds_count{').some(line => line.includes('verb="POST"')));
  t.deepEqual(
    series(text, 'scheduler_pending_pods{').map(line => /queue="(\w+)"/.exec(line)![1]),
    ['active', 'unexpected', 'gated'],
  );
  t.regex(text, /^cardinality_enforcement_unexpected_categorizations_total [1-9]\d*$/m);
});

test('metrics are hidden by their release unless hidden ones are shown, and never when disabled', async t => {
  const slo = 'apiserver_request_slo_duration_seconds';
  const metrics = async (...apiserverArgs: string[]) => {
    await using plane = await startPlane({...quiet, clock: new VirtualClock(), apiserverArgs, schedulerArgs: []});
    const {get} = wire(plane.api.handler);
    await get('/api/v1/namespaces/default');
    return (await get('/metrics')).text;
  };
  const usual = await metrics('--disabled-metrics=apiserver_response_sizes,made_up');
  const shown = await metrics('--show-hidden-metrics-for-version=1.34');
  const disabled = await metrics('--show-hidden-metrics-for-version=1.34', `--disabled-metrics=${slo}`);

  t.deepEqual(
    [usual, shown, disabled].map(text => text.includes(`${slo}_count{`)),
    [false, true, false],
  );
  t.true(shown.includes(`# HELP ${slo} [ALPHA] (Deprecated since 1.27.0) Response latency distribution`));
  t.regex(usual, /^hidden_metrics_total [1-9]\d*$/m);
  t.deepEqual(series(shown, 'hidden_metrics_total '), ['hidden_metrics_total 0']);
  t.deepEqual(series(usual, 'disabled_metrics_total '), ['disabled_metrics_total 2']);
  t.false(usual.includes('apiserver_response_sizes'));
  t.regex(usual, /^# HELP apiserver_request_total \[STABLE\] Counter of apiserver requests/m);
  t.regex(usual, /^# HELP apiserver_storage_objects \[STABLE\] \(Deprecated since 1\.34\.0\) \[DEPRECATED, /m);
  t.regex(usual, /^apiserver_resource_objects\{group="rbac\.authorization\.plat\.io",resource="clusterroles"\} [1-9]\d*$/m);
  t.regex(usual, /^registered_metrics_total\{stability_level="STABLE",deprecated_version="1\.34\.0"\} 1$/m);
  t.regex(usual, /^registered_metrics_total\{stability_level="ALPHA",deprecated_version=""\} [1-9]\d+$/m);
  t.regex(shown, /^registered_metrics_total\{stability_level="ALPHA",deprecated_version="1\.27\.0"\} 1$/m);
});

test('a manifest that cannot be used ends the start with a line that names the flag', async t => {
  for (const [content, message] of [
    ['- a', 'must be a map'],
    ['apiserver_request_total: GET', '"apiserver_request_total" must be formatted as <MetricName>,<LabelName>'],
    ['"a,b": [c]', 'the value of "a,b" must be a string: <value>,<value>...'],
  ] as const) {
    const path = file('broken.yaml', content);
    await t.throwsAsync(startPlane({...quiet, schedulerArgs: [`--allow-metric-labels-manifest=${path}`]}), {
      message: `--allow-metric-labels-manifest: ${path}: ${message}`,
    });
  }
  await t.throwsAsync(startPlane({...quiet, apiserverArgs: ['--allow-metric-labels-manifest=/no/file']}), {
    message: /^--allow-metric-labels-manifest: \/no\/file: .*no such file/,
  });
});

test('a metric has a limited number of series, whatever its labels', async t => {
  const metrics = new MetricsRegistry({process: true});
  const counter = metrics.counter({name: 'many_total', help: 'Many.', labels: ['name']});
  const histogram = metrics.histogram({name: 'many_seconds', help: 'Many.', labels: ['name'], buckets: [1]});
  for (let at = 0; at < maxSeries + 5; at++) {
    counter.add({name: `n${at}`});
    histogram.at({name: `n${at}`}).observe(2);
  }
  counter.add({name: 'n1'});

  t.deepEqual([metrics.value('many_total', {name: 'unexpected'}), metrics.value('many_seconds', {name: 'unexpected'})], [5, 5]);
  t.is(metrics.value('many_total', {name: 'n1'}), 2);
  t.is(metrics.value('cardinality_enforcement_unexpected_categorizations_total'), 10);
});
