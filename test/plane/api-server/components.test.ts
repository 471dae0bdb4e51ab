import {createServer, type AddressInfo} from 'node:net';
import type {RequestListener} from 'node:http';
import {createServer as createHttpsServer} from 'node:https';
import {connect} from 'node:tls';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {withErrorHandler} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {systemRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {HealthChecks} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {versionInfoOf} from '#src/options/parsed-options.js';
import {schedulerFlags} from '#src/options/programs/scheduler.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {parseFlags} from '#src/options/parse.js';
import {openPort, type PortOptions} from '#src/plane/component/port.js';
import {componentsOf, type ComponentParts} from '#src/plane/api-server/components.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {dialer} from '#src/transport/dial.js';
import {systemNetwork} from '#src/transport/network.js';
import {aPlane} from '#test/controllers/plane.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';

const words = naming('kubernetes');
const {cert, key} = await aPair(await anAuthority(), {commonName: 'component'}, 'server auth');

/** A port on which a component answers. */
const aComponent = async (answer: RequestListener) => {
  const server = createHttpsServer({cert, key}, answer);
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => (server.closeAllConnections(), void server.close())};
};

/** A port without a listener. */
const aDeadPort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const {port} = server.address() as AddressInfo;
  await new Promise(resolve => server.close(resolve));
  return port;
};

const statusesOf = async (port: number, own: Partial<ComponentParts> = {}) => {
  const clock = new VirtualClock();
  const dead = await aDeadPort();
  const all = await componentsOf({
    store: memoryStore({clock}),
    naming: words,
    clock,
    dial: dialer(systemNetwork(clock), clock),
    ports: {scheduler: port, 'controller-manager': dead},
    ...own,
  })();
  return {all, dead, scheduler: all.find(({name}) => name === 'scheduler')};
};

for (const [what, answer, healthy, message] of [
  ['is well', (_, response) => response.end('ok'), true, 'ok'],
  ['is not well', (_, response) => response.writeHead(500).end('[-]ping failed'), false, 'HTTP probe failed with statuscode: 500'],
  [
    'sends elsewhere',
    (_, response) => response.writeHead(302, {Location: '/'}).end('there'),
    undefined,
    'Probe terminated redirects, Response body: there',
  ],
  ['talks without end', (_, response) => response.end('x'.repeat(20_000)), true, 'x'.repeat(10 << 10)],
] as const satisfies readonly (readonly [string, RequestListener, boolean | undefined, string])[]) {
  test(`a component that ${what} is reported so`, async t => {
    const urls: (string | undefined)[] = [];
    using component = await aComponent((request, response) => {
      urls.push(request.url);
      (answer as RequestListener)(request, response);
    });
    const {scheduler} = await statusesOf(component.port);

    t.deepEqual(scheduler, {name: 'scheduler', ...(healthy === undefined ? {} : {healthy}), message});
    t.deepEqual(urls, ['/healthz']);
  });
}

test('a component that is not running, or closes the connection, is reported so', async t => {
  using component = await aComponent(request => request.socket.destroy());
  const {all, dead, scheduler} = await statusesOf(component.port);

  t.deepEqual(scheduler, {name: 'scheduler', healthy: false, message: `Get "https://127.0.0.1:${component.port}/healthz": EOF`});
  t.deepEqual(
    all.find(({name}) => name === 'controller-manager'),
    {
      name: 'controller-manager',
      healthy: false,
      message: `Get "https://127.0.0.1:${dead}/healthz": dial tcp 127.0.0.1:${dead}: connect: connection refused`,
    },
  );
});

/** A clock that moves on while calls wait for their response. */
class MovingClock extends VirtualClock {
  override hold(): Disposable {
    return {[Symbol.dispose]() {}};
  }
}

test('a component that does not answer is given twenty seconds', async t => {
  const clock = new MovingClock();
  let notify = () => {};
  const called = new Promise<void>(resolve => {
    notify = resolve;
  });
  using component = await aComponent(() => notify());
  const answer = statusesOf(component.port, {clock});
  await called;
  await clock.advance(20_000);

  t.is(
    (await answer).scheduler?.message,
    `Get "https://127.0.0.1:${component.port}/healthz": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  );
  t.is(clock.pending, 0);
});

test('a failing store gives its reason', async t => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  const dead = await aDeadPort();
  t.deepEqual((await statusesOf(dead, {store})).all.at(-1), {name: 'etcd-0', healthy: true, message: 'ok'});
  await store.close();

  t.deepEqual((await statusesOf(dead, {store})).all.at(-1), {name: 'etcd-0', healthy: false, message: '', error: 'the store is closed'});
});

test('a plane reports the components it runs itself', async t => {
  await using plane = await aPlane({controllerManagerArgs: ['--controllers=namespace-controller']});
  const {items} = await plane.client().resource(kinds.componentStatuses).list();

  t.deepEqual(
    items.map(({metadata, conditions}) => [metadata?.name, conditions]),
    ['scheduler', 'controller-manager', 'kvstore-0'].map(name => [name, [{type: 'Healthy', status: 'True', message: 'ok'}]]),
  );
});

/** Until when the certificate is valid that a port shows. */
const shownUntil = async (port: number): Promise<number> => {
  const socket = connect({port, host: '127.0.0.1', rejectUnauthorized: false});
  const {valid_to} = await new Promise<ReturnType<typeof socket.getPeerCertificate>>((resolve, reject) =>
    socket.once('secureConnect', () => resolve(socket.getPeerCertificate())).once('error', reject),
  );
  socket.destroy();
  return Date.parse(valid_to);
};

const dayMs = 86_400_000;

for (const [program, options] of [
  ['plat-controller-manager', parseFlags(controllerManagerFlags, ['--secure-port=0', '--bind-address=127.0.0.1']).options],
  ['plat-scheduler', parseFlags(schedulerFlags, ['--secure-port=0', '--bind-address=127.0.0.1']).options],
] as const satisfies readonly (readonly [string, PortOptions])[]) {
  test(`the port of ${program} without certificate files renews its certificate in memory`, async t => {
    const time = new VirtualClock();
    let skippedMs = 0;
    const errors: unknown[] = [];
    const clock = {...withErrorHandler(time, error => errors.push(error)), now: () => time.now() + skippedMs};
    const stop = new AbortController();
    const port = await openPort({
      program,
      component: program,
      version: versionInfoOf(parseFlags(schedulerFlags, [])),
      flags: () => ({}),
      options,
      configuration: () => ({}),
      naming: words,
      authentication: undefined,
      authorization: undefined,
      checks: new HealthChecks(noLog),
      metrics: new MetricsRegistry(),
      debugPages: new Map(),
      verbosity: undefined,
      clock,
      random: systemRandom,
      log: noLog,
      signal: stop.signal,
      gate: () => false,
    });
    t.teardown(() => port.close());
    await time.advance(120_000);
    const first = await shownUntil(port.port);
    skippedMs = 340 * dayMs;
    await time.advance(dayMs / 2 + 60_000);
    const second = await shownUntil(port.port);
    stop.abort();

    t.deepEqual(errors, []);
    t.true(second - first > 339 * dayMs, `valid until ${new Date(first).toISOString()}, then until ${new Date(second).toISOString()}`);
  });
}
