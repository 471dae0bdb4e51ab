import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {noLog} from '#src/base/log.js';
import {createClient, createManager, defineController, mapped, selection} from '#src/operator/index.js';
import {ConfigMap, Secret} from '#src/operator/kinds.js';
import {managerFlags} from '#src/operator/program/flags.js';
import {tracingBy} from '#src/operator/program/tracing.js';
import {parseFlags} from '#src/options/parse.js';
import {startPlane} from '#src/plane/plane.js';
import {aDirectory} from '#test/cli/programs.js';
import {Collector} from '#test/transport/collector.js';

test('each reconcile is a trace with its cause and its result, in which the requests of its client and the server are', async t => {
  await using collector = await new Collector().listen();
  const endpoint = `unix://${collector.socket}`;
  const file = join(aDirectory(), 'tracing');
  const configuration = {apiVersion: 'apiserver.config.k8s.io/v1', kind: 'TracingConfiguration', endpoint, samplingRatePerMillion: 0};
  writeFileSync(file, JSON.stringify(configuration));
  const plane = await startPlane({controllerManagerArgs: ['--controllers='], apiserverArgs: [`--tracing-config-file=${file}`]});
  t.teardown(() => plane.stop());
  await using client = await createClient({kubeconfig: plane.kubeconfig});
  let ended: () => void = () => {};
  const done = new Promise<void>(resolve => (ended = resolve));
  let tries = 0;
  const controller = defineController<ConfigMap>({
    name: 'maps',
    for: selection(ConfigMap, {fieldSelector: 'metadata.name=traced'}),
    watches: [mapped(Secret, secret => [{namespace: 'default', name: secret.metadata.name}])],
    async reconcile({key, client: own}) {
      if (key.name !== 'traced') return;
      await own.create(ConfigMap, {metadata: {name: `of-${key.name}-${++tries}`, namespace: 'default'}});
      if (tries === 1) throw new Error('not yet');
      ended();
    },
  });
  const names = ['one', 'two'];
  for (const name of names) await client.create(ConfigMap, {metadata: {name, namespace: 'default', labels: {listed: 'yes'}}});
  const left = new Set(names);
  let haveBeen: () => void = () => {};
  const reconciled = new Promise<void>(resolve => (haveBeen = resolve));
  const lister = defineController({
    name: 'listed',
    for: selection(ConfigMap, {labelSelector: 'listed=yes'}),
    async reconcile({key}) {
      left.delete(key.name);
      if (left.size === 0) haveBeen();
    },
  });
  const manager = createManager({controllers: [controller, lister], client, tracing: {endpoint}, log: noLog});
  const stop = new AbortController();
  const run = manager.run(stop.signal);
  await manager.ready;
  await client.create(Secret, {metadata: {name: 'traced', namespace: 'default'}});
  await Promise.all([done, reconciled]);
  stop.abort();
  await run;
  await plane.stop();

  const roots = collector.spans.filter(({name, attributes}) => name === 'reconcile maps' && attributes['key'] === 'default/traced');
  t.deepEqual(
    roots.map(({attributes: {cause, result, retries}, status}) => ({cause, result, retries, status})),
    [
      {cause: 'added Secret default/traced', result: 'error', retries: 0, status: 2},
      {cause: 'retry', result: 'success', retries: 1, status: 0},
    ],
  );
  const ofListed = collector.spans.filter(({name}) => name === 'reconcile listed').map(({attributes: {cause}}) => cause);
  t.deepEqual(ofListed.sort(), ['listed ConfigMap default/one', 'listed ConfigMap default/two']);
  const [root] = roots;
  const request = collector.spans.find(({name, parentId}) => name === 'HTTP POST' && parentId === root!.spanId);
  t.like(request, {traceId: root!.traceId, kind: 3});
  const served = collector.spans.find(({parentId}) => parentId === request!.spanId);
  t.is(served?.name, 'POST /api/v1/namespaces/{:namespace}/configmaps');
});

test('traces are sent where the flag says, or else the variables of OpenTelemetry, and not where that cannot be done', t => {
  const by = (args: readonly string[], env: Readonly<Record<string, string>>) => {
    const warnings: string[] = [];
    const warn = (...said: unknown[]) => void warnings.push(String(said.at(-1)));
    const {options} = parseFlags(managerFlags('maps', ''), args);
    return {endpoint: tracingBy(options, env, {...noLog, warn})?.endpoint, warnings: warnings.length};
  };
  const variable = {OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4317'};

  t.deepEqual(by([], {}), {endpoint: undefined, warnings: 0});
  t.deepEqual(by([], variable), {endpoint: 'http://collector:4317', warnings: 0});
  t.deepEqual(by(['--tracing-endpoint=here:4317'], variable), {endpoint: 'here:4317', warnings: 0});
  t.deepEqual(by([], {OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector:4317'}), {endpoint: undefined, warnings: 1});
  t.deepEqual(by([], {...variable, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf'}), {endpoint: undefined, warnings: 1});
  t.throws(() => by(['--tracing-endpoint=https://here'], {}), {message: /unsupported scheme: https/});
  t.throws(() => createManager({controllers: [], client: undefined as never, tracing: {endpoint: 'https://here'}}), {
    message: /^tracing\.endpoint: .*unsupported scheme/,
  });
});
