import {once} from 'node:events';
import {mkdirSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {runtimeOf} from '#src/cli/platlet/agent-inputs.js';
import {checkedSettings, credentialProvidersOf} from '#src/cli/platlet/claim.js';
import {configured} from '#src/cli/platlet/configuration.js';
import {joinCluster} from '#src/cli/platlet/joining.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {UnhandledErrors} from '#src/observe/unhandled.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {parseFlags} from '#src/options/parse.js';
import {versionInfoOf} from '#src/options/parsed-options.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import {kinds} from '#src/api/kinds/index.js';
import {FakeCri} from '#test/platlet/cri/fake-cri.js';
import {memoryMachine} from './whole-agent.js';

const parsed = (...argv: readonly string[]) => configured(parseFlags(platletFlags, argv));

test('an agent does not start with --runonce, or on a machine that --fail-swap-on or --fail-cgroupv1 refuses', async t => {
  const start = async (machine: {readonly swap?: true; readonly v1?: true}, ...argv: readonly string[]): Promise<string> =>
    checkedSettings(
      {parsed: await parsed(...argv), log: noLog},
      {isCgroupV1: async () => machine.v1 ?? false, hasSwap: async () => machine.swap ?? false},
    ).then(
      () => 'starts',
      (error: Error) => error.message,
    );
  t.is(await start({}), 'starts');
  t.is(await start({swap: true}), 'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false');
  t.is(await start({swap: true}, '--fail-swap-on=false'), 'starts');
  t.regex(await start({v1: true}), /platlet is configured to not run on a host using cgroup v1/);
  t.is(await start({v1: true}, '--fail-cgroupv1=false'), 'starts');
  t.regex(await start({}, '--runonce'), /Runonce mode has been deprecated and should not be set/);
});

test('--container-runtime-endpoint, --image-service-endpoint and --runtime-request-timeout rule the calls of the runtime', async t => {
  await using containers = await new FakeCri().listen();
  await using images = await new FakeCri().listen();
  const {settings} = await parsed(
    `--container-runtime-endpoint=unix://${containers.socket}`,
    `--image-service-endpoint=unix://${images.socket}`,
    '--runtime-request-timeout=7s',
  );
  await using runtime = new CriRuntime({...runtimeOf(settings), clock: systemClock});
  await runtime.pods();
  await runtime.images();
  t.deepEqual([...new Set(containers.received.map(({name}) => name))].sort(), ['listContainers', 'listPodSandbox']);
  t.deepEqual(
    images.received.map(({name}) => name),
    ['listImages'],
  );
  for (const {timeout} of [...containers.received, ...images.received]) t.regex(timeout ?? '', /^(?:7S|[67]\d{3}m)$/);
});

test('--platconfig, --plat-api-qps, --plat-api-burst and --plat-api-content-type rule the requests to the API server', async t => {
  const types: unknown[] = [];
  const server = createServer((request, response) => {
    types.push(request.headers['content-type']);
    request.resume();
    response.writeHead(200, {'content-type': 'application/json'}).end('{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  using host = memoryMachine();
  const file = join(host.root, 'config');
  const cluster = {server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`};
  const context = {cluster: 'c', user: 'u'};
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{name: 'c', cluster}],
      users: [{name: 'u', user: {}}],
      contexts: [{name: 'x', context}],
      'current-context': 'x',
    }),
  );
  const argv = [
    `--platconfig=${file}`,
    '--naming=plat',
    '--plat-api-qps=1',
    '--plat-api-burst=2',
    '--plat-api-content-type=application/json',
  ];
  const clock = new VirtualClock();
  const stopping = new AbortController();
  const of = await parsed(...argv);
  {
    await using joined = await joinCluster({
      given: {
        parsed: of,
        log: noLog,
        clock,
        unhandled: new UnhandledErrors(noLog),
        verbosity: new Verbosity(0, ''),
        version: versionInfoOf(of),
        stopping: stopping.signal,
        print: () => {},
        ready: () => {},
      },
      settings: of.settings,
      meter: new MetricsRegistry(),
      nodeName: 'a',
      signal: stopping.signal,
    });
    types.length = 0;
    const nodes = joined.connection.client('').resource(kinds.nodes);
    const all = Promise.all(['a', 'b', 'c'].map(name => nodes.create({metadata: {name}})));
    await clock.advance(900);
    t.is(types.length, 2);
    await clock.advance(200);
    await all;
    t.deepEqual(types, ['application/json', 'application/json', 'application/json']);
    stopping.abort();
  }
  server.close();
});

test('--image-credential-provider-config and --image-credential-provider-bin-dir name the programs that give credentials', async t => {
  using host = memoryMachine();
  const plat = naming('plat');
  const file = join(host.root, 'providers.json');
  const provider = {
    name: 'ours',
    matchImages: ['a.example.com'],
    defaultCacheDuration: '1m',
    apiVersion: `credentialprovider.${plat.agent}.${plat.domain}/v1`,
  };
  writeFileSync(
    file,
    JSON.stringify({apiVersion: `${plat.agent}.config.${plat.domain}/v1`, kind: 'CredentialProviderConfig', providers: [provider]}),
  );
  const load = async (programs: string) =>
    credentialProvidersOf({
      parsed: await parsed(`--image-credential-provider-config=${file}`, `--image-credential-provider-bin-dir=${programs}`),
    }).then(
      found => found?.providers.map(({path}) => path),
      (error: Error) => error.message,
    );
  mkdirSync(join(host.root, 'bin'));
  t.is(
    await load(join(host.root, 'bin')),
    `--image-credential-provider-config: plugin binary executable ${join(host.root, 'bin/ours')} did not exist`,
  );
  writeFileSync(join(host.root, 'bin/ours'), '', {mode: 0o755});
  t.deepEqual(await load(join(host.root, 'bin')), [join(host.root, 'bin/ours')]);
  t.is(await credentialProvidersOf({parsed: await parsed()}), undefined);
});
