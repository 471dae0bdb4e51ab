import test from 'ava';
import {ListRefused} from '#informers/refusal.js';
import {kindOnWire, kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {selectControllers} from '#src/runtime/selection.js';
import {settled} from '#src/runtime/controller.js';
import {startServer} from '#test/fixtures/server.js';
import {startManager} from './environment.js';
import {named, running, second, untilAborted} from './managed-controllers.js';

test('each controller gets a client of its own, with its account and share of the limits', async t => {
  const {start, identities, manager} = startManager(t, [
    named('one-controller'),
    named('two-controller', {clientLimits: {qpsFactor: 20, burstFactor: 100}}),
  ]);

  await start();
  await manager.ready;

  t.deepEqual(identities, ['one-controller as one-controller-account 1/1', 'two-controller as two-controller-account 20/100']);
});

test('all controllers are built before any informer starts, and run only then', async t => {
  const order: string[] = [];
  const reporting = (name: string) =>
    named(name, {
      create({informers}) {
        order.push(`build ${name}, synced: ${informers.informer(kinds.configMaps).isSynced}`);
        return async () => {
          order.push(`work ${name}`);
          return settled;
        };
      },
    });
  const {start, create} = startManager(t, [reporting('one-controller'), reporting('two-controller')]);
  await create(kinds.configMaps, {metadata: {namespace: 'default', name: 'a'}});

  await start();

  t.deepEqual(order, [
    'build one-controller, synced: false',
    'build two-controller, synced: false',
    'work one-controller',
    'work two-controller',
  ]);
});

test('a controller whose list is refused again and again is reported, and the others work meanwhile', async t => {
  const nothings = kindOnWire(naming('plat'), {group: 'example.com', version: 'v1', kind: 'Nothing', plural: 'nothings', namespaced: true});
  const {start, clock, manager, lines, fields, end} = startManager(t, [
    named('one-controller', {primary: nothings}),
    named('two-controller'),
  ]);
  let refusal: unknown;
  manager.ready.catch((error: unknown) => (refusal = error));
  await start();
  await clock.advance(5 * 60 * second);

  t.true(refusal instanceof ListRefused);
  const reported = lines.flatMap((line, index) =>
    line === 'error controller waits for what the server refuses' ? [fields[index]!['controller']] : [],
  );
  t.deepEqual(reported, ['one-controller']);
  t.deepEqual(
    lines.flatMap((line, index) => (line === 'info controller starts' ? [fields[index]!['controller']] : [])),
    ['two-controller'],
  );
  t.deepEqual(end, {});
});

test('a run keeps the process running until it ends', async t => {
  let kept = 0;
  const env = startServer();
  env.clock.keepAlive = () => {
    kept++;
    return {[Symbol.dispose]: () => void kept--};
  };
  const {start, stop, clock, end} = startManager(t, [running('one-controller', untilAborted)], {}, env);
  await start();
  t.is(kept, 1);

  stop();
  await clock.advance(second);

  t.is(end.ending, 'stopped');
  t.is(kept, 0);
});

test('controllers that are off by gate, by provider or by their own options are skipped with the reason', async t => {
  const {start, fields, identities} = startManager(
    t,
    [
      named('selinux-warning-controller'),
      named('node-route-controller'),
      named('picky-controller', {enabled: () => 'no certificate is given'}),
      named('ttl-controller'),
    ],
    {gates: {enabled: () => false}},
  );

  await start();

  t.is(identities.length, 1);
  t.deepEqual(
    fields.filter(({reason}) => reason).map(({controller, reason}) => `${controller as string}: ${reason as string}`),
    [
      'selinux-warning-controller: feature gate SELinuxChangePolicy is off',
      'node-route-controller: there is no cloud provider',
      'picky-controller: no certificate is given',
    ],
  );
});

test('a controller that cannot be built ends the start with its name and cause', async t => {
  const {start, end, manager} = startManager(t, [
    named('one-controller', {
      create() {
        throw new Error('the key does not match');
      },
    }),
  ]);

  await start();

  t.is((end.error as Error).message, 'controller one-controller could not be started: the key does not match');
  await t.throwsAsync(manager.ready);
});

test('a server that does not answer is waited for, ten seconds at most', async t => {
  const {client, start, end, clock} = startManager(t, [], {});
  const away = startManager(t, [named('one-controller')], {
    client: {...client, naming: client.naming, request: () => Promise.reject(new Error('connection refused'))},
  });

  await away.start();
  await away.clock.advance(9 * second);
  t.is(away.end.error, undefined);
  await away.clock.advance(2 * second);

  t.is((away.end.error as Error).message, 'failed to wait for the API server to be healthy');
  await start();
  await clock.advance(20 * second);
  t.is(end.error, undefined);
});

test('controllers begin between one and two start intervals after they were built', async t => {
  const at: number[] = [];
  const names = ['a-controller', 'b-controller', 'c-controller'];
  const controllers = names.map(name =>
    running(name, async signal => {
      at.push(clock.monotonic());
      await untilAborted(signal);
    }),
  );
  const {clock, start} = startManager(t, controllers, {startIntervalMs: 10 * second});
  await start();

  await clock.advance(60 * second);

  t.is(at.length, 3);
  t.true(at.every(time => time >= 10 * second && time < 20 * second));
  t.is(new Set(at).size, 3);
});

test('every controller that runs is shown by a gauge and has a health check of its own', async t => {
  const sick = named('sick-controller', {
    create({healthCheck}) {
      healthCheck(() => {
        throw new Error('ill');
      });
      return async () => settled;
    },
  });
  const {start, meter, checks, stop, clock} = startManager(t, [named('one-controller'), sick]);
  const gauge = (name: string) => meter.value('running_managed_controllers', {manager: 'plat-controller-manager', name});
  await start();

  t.deepEqual([gauge('one-controller'), gauge('sick-controller')], [1, 1]);
  t.deepEqual(await checks.all('healthz'), {
    status: 500,
    body: '[+]one-controller ok\n[-]sick-controller failed: reason withheld\nhealthz check failed\n',
  });
  stop();
  await clock.drain();

  t.deepEqual([gauge('one-controller'), gauge('sick-controller')], [0, 0]);
  t.deepEqual(checks.names, []);
});

test('a long-running controller that fails is run again after a second', async t => {
  const at: number[] = [];
  const failing = running('failing-controller', async signal => {
    at.push(clock.monotonic());
    if (at.length < 3) throw new Error('crashed');
    await untilAborted(signal);
  });
  const {clock, start, lines} = startManager(t, [failing]);
  await start();

  await clock.advance(10 * second);

  t.deepEqual(at, [0, second, 2 * second]);
  t.is(lines.filter(line => line === 'error controller failed and is run again').length, 2);
});

test('a selection takes aliases, the first item that names a controller decides, and missing controllers are refused by name', t => {
  const built = [named('ttl-controller'), named('token-cleaner-controller'), named('namespace-controller')];
  const chosen = (...items: string[]) => selectControllers(built, items).selected.map(({name}) => name);

  t.deepEqual(chosen('*'), ['ttl-controller', 'namespace-controller']);
  t.deepEqual(chosen('*', '-namespace', 'tokencleaner'), ['ttl-controller', 'token-cleaner-controller']);
  t.deepEqual(chosen('ttl', '-ttl'), ['ttl-controller']);
  t.deepEqual(chosen(), []);
  t.throws(() => chosen('-nonsense'), {message: '"nonsense" is not in the list of known controllers'});
  t.throws(() => chosen('job'), {message: 'controller "job-controller" is not built into this version'});
  t.true(selectControllers(built, ['*']).missing.includes('job-controller'));
  t.throws(() => selectControllers([...built, named('ttl-controller')], ['*']), {message: 'controller ttl-controller is declared twice'});
});
