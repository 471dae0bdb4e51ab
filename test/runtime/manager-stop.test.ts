import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {seededRandom} from '#src/base/random.js';
import {defineLongRunning, settled, type Controller} from '#src/runtime/controller.js';
import {runWithLeaderMigration} from '#src/runtime/leader-migration.js';
import {LeaseLock} from '#src/runtime/leader-election/lease-lock.js';
import type {RunOutcome} from '#src/runtime/manager.js';
import {startManager} from './environment.js';
import {named, running, second, untilAborted} from './managed-controllers.js';

const timing = {leaseDurationMs: 15 * second, renewDeadlineMs: 10 * second, retryPeriodMs: 2 * second};

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

test('a lease is released at a stop only if all controllers have ended', async t => {
  const server = startManager(t, []);
  const shared = {clock: server.clock, client: server.client, shutdownTimeoutMs: 9 * second};
  const holderAfterStop = async (controller: Controller, ending: RunOutcome) => {
    const election = {lock: lockOf(server.own), identity: 'a', releaseOnStop: true, ...timing};
    const {start, stop, end} = startManager(t, [controller], {...shared, election});
    await start();
    stop();
    await server.clock.advance(10 * second);
    t.is(end.ending, ending);
    const {name, namespace} = lockOf(server.own);
    return (await server.client.resource(kinds.leases).get(name, {namespace})).spec?.holderIdentity;
  };

  t.is(await holderAfterStop(named('one-controller'), 'stopped'), '');
  t.is(
    await holderAfterStop(
      running('stubborn-controller', () => new Promise(() => {})),
      'stuck',
    ),
    'a',
  );
});

test('a stop before the start has finished stops the component', async t => {
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

test('a stop before the start starts nothing', async t => {
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
