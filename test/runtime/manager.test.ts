import test from 'ava';
import {ListRefused} from '#informers/refusal.js';
import {kindOnWire, kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {seededRandom} from '#src/base/random.js';
import {selectControllers} from '#src/runtime/selection.js';
import {defineController, defineLongRunning, settled, type KeyedController, type Run} from '#src/runtime/controller.js';
import {runWithLeaderMigration} from '#src/runtime/leader-migration.js';
import {LeaseLock} from '#src/runtime/leader-election/lease-lock.js';
import {startServer} from '#test/fixtures/server.js';
import {startManager} from './environment.js';

const second = 1000;
const timing = {leaseDurationMs: 15 * second, renewDeadlineMs: 10 * second, retryPeriodMs: 2 * second};

const named = (name: string, rest: Partial<KeyedController> = {}) =>
  defineController({
    doc: 'Does nothing.',
    name,
    serviceAccount: `${name}-account`,
    primary: kinds.configMaps,
    create: () => async () => settled,
    ...rest,
  });

const running = (name: string, run: Run) => defineLongRunning({doc: 'Runs.', name, serviceAccount: name, create: () => run});

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => signal.addEventListener('abort', () => resolve(), {once: true}));

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

test('a stop finishes keys in progress, takes no more and leaves nothing behind', async t => {
  const done: string[] = [];
  let release = () => {};
  const slow = named('slow-controller', {
    create: () => async key => {
      await new Promise<void>(resolve => (release = resolve));
      done.push(key.name);
      return settled;
    },
  });
  const {clock, create, start, stop, end} = startManager(t, [slow]);
  await create(kinds.configMaps, {metadata: {namespace: 'default', name: 'a'}});
  await create(kinds.configMaps, {metadata: {namespace: 'default', name: 'b'}});
  const timers = clock.pending;
  void start(); // Virtual time waits for work at hand, so this does not.
  for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve));

  stop();
  await new Promise(resolve => setImmediate(resolve));
  t.is(end.ending, undefined);
  release();
  await clock.drain();

  t.is(end.ending, 'stopped');
  t.deepEqual(done, ['a']);
  t.is(clock.pending, timers);
});

test('a call that hangs is cancelled at half of the shutdown timeout', async t => {
  const hanging = defineLongRunning({
    doc: 'Hangs.',
    name: 'hanging-controller',
    serviceAccount: 'hanging',
    create:
      ({client}) =>
      async () => {
        await client.request('GET', '/hangs').catch(() => {});
      },
  });
  const {clock, own, start, stop, end} = startManager(t, [hanging]);
  own.fail('GET /hangs', 'hang');
  await start();

  stop();
  await clock.advance(20 * second);

  t.is(end.ending, 'stopped');
  t.is(end.at, 5 * second);
});

test('a controller that does not end makes the stop end at its timeout, named every third of it', async t => {
  const {clock, start, stop, end, fields} = startManager(
    t,
    [running('stubborn-controller', () => new Promise(() => {})), named('one-controller')],
    {shutdownTimeoutMs: 9 * second},
  );
  await start();

  stop();
  await clock.advance(20 * second);

  t.is(end.ending, 'stuck');
  t.is(end.at, 9 * second);
  t.deepEqual(
    fields.filter(({controllers}) => controllers).map(({controllers}) => controllers),
    [['stubborn-controller'], ['stubborn-controller']],
  );
});

test('a stop before the start has come to an end is a stop', async t => {
  const {clock, start, stop, end} = startManager(t, [named('one-controller')], {startIntervalMs: 60 * second});
  await start();

  stop();
  await clock.drain();

  t.is(end.ending, 'stopped');
});

test('a stop does not wait for a controller that never gets built', async t => {
  const {clock, start, stop, end} = startManager(t, [named('one-controller', {create: () => new Promise(() => {})})]);
  await start();

  stop();
  await clock.drain();

  t.is(end.ending, 'stopped');
});

test('a stop that comes before everything else starts nothing', async t => {
  const {start, stop, end, identities} = startManager(t, [named('one-controller')]);

  stop();
  await start();

  t.is(end.ending, 'stopped');
  t.deepEqual(identities, []);
});

const lockOf = (client: ConstructorParameters<typeof LeaseLock>[0]['client']) =>
  new LeaseLock({client, namespace: 'plat-system', name: 'plat-controller-manager'});

test('under an election only the leader builds controllers; a standby serves its health and nothing else', async t => {
  const server = startManager(t, []);
  const election = (identity: string) => ({lock: lockOf(server.own), identity, ...timing});
  const shared = {clock: server.clock, client: server.client};
  const a = startManager(t, [named('one-controller')], {...shared, election: election('a'), random: seededRandom(1)});
  const b = startManager(t, [named('one-controller')], {...shared, election: election('b'), random: seededRandom(2)});

  await a.start();
  await b.start();
  await server.clock.advance(60 * second);

  t.true(a.manager.isLeader);
  t.deepEqual([a.checks.names, b.checks.names], [['leaderElection', 'one-controller'], ['leaderElection']]);
  t.deepEqual([a.identities.length, b.identities.length], [1, 0]);
});

test('losing the leadership cancels its requests at once and ends as lost; the other manager takes over', async t => {
  const server = startManager(t, []);
  const shared = {clock: server.clock, client: server.client};
  const a = startManager(t, [running('one-controller', untilAborted)], {
    ...shared,
    election: {lock: lockOf(server.own), identity: 'a', ...timing},
    random: seededRandom(1),
  });
  const b = startManager(t, [named('one-controller')], {
    ...shared,
    election: {lock: lockOf(server.client), identity: 'b', ...timing},
    random: seededRandom(2),
  });
  await a.start();
  await b.start();

  server.own.always(call => (call.endsWith('leases') ? new Error('connection refused') : undefined));
  await server.clock.advance(60 * second);

  t.is(a.end.ending, 'lost');
  t.true(b.manager.isLeader);
  t.is(b.identities.length, 1);
});

test('two managers of one process lead one after the other, and losing one lock loses both', async t => {
  const server = startManager(t, []);
  const shared = {clock: server.clock, client: server.client};
  const other = new LeaseLock({client: server.client, namespace: 'plat-system', name: 'moving'});
  const own = startManager(t, [running('one-controller', untilAborted)], {
    ...shared,
    election: {lock: lockOf(server.own), identity: 'a', ...timing},
    random: seededRandom(1),
  });
  const moved = startManager(t, [running('two-controller', untilAborted)], {
    ...shared,
    election: {lock: other, identity: 'a', check: 'leaderElection-migration', ...timing},
    random: seededRandom(2),
  });
  const ending = runWithLeaderMigration(own.manager, moved.manager, new AbortController().signal);
  await server.clock.advance(30 * second);
  t.deepEqual(
    [own.manager.isLeader, moved.manager.isLeader, moved.checks.names],
    [true, true, ['leaderElection-migration', 'two-controller']],
  );

  server.own.always(call => (call.endsWith('leases') ? new Error('connection refused') : undefined));
  await server.clock.advance(60 * second);
  t.is(await ending, 'lost');
  t.deepEqual(moved.checks.names, []);
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
