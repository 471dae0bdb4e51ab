import test, {type ExecutionContext} from 'ava';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {againAfter, createManager, defineController, Terminal, type ManagerOptions} from '#src/operator/index.js';
import {ConfigMap, Event, Lease} from '#src/operator/kinds.js';
import {startServer} from '#test/fixtures/server.js';

type Reconcile = (name: string) => Promise<ReturnType<typeof againAfter> | void>;

/** An API server with one ConfigMap, and managers that run a controller of ConfigMaps. */
const aServer = async (t: ExecutionContext) => {
  const {clock, clientOf} = startServer();
  const client = clientOf();
  await client.resource(ConfigMap).create({metadata: {name: 'first', namespace: 'default'}});
  const manage = (reconcile: Reconcile, options: Partial<ManagerOptions> = {}) => {
    const controller = defineController<ConfigMap>({
      name: 'maps',
      for: ConfigMap,
      concurrency: 3,
      retry: {delay: '10s'},
      reconcile: ({key}) => reconcile(key.name),
    });
    const stop = new AbortController();
    const manager = createManager({
      name: 'maps-operator',
      controllers: [controller],
      client,
      clock,
      random: seededRandom(1),
      log: noLog,
      freeze: true,
      ...options,
    });
    const start = () => {
      const ended = manager.run(stop.signal);
      t.teardown(async () => {
        stop.abort();
        await clock.drain();
        await ended;
      });
      return ended;
    };
    return {manager, start, stop: () => stop.abort()};
  };
  const lease = async () => (await client.resource(Lease).get('maps-operator', {namespace: 'default'})).spec;
  return {clock, client, manage, lease};
};

const election = (identity: string) => ({leaderElection: {namespace: 'default', identity}});

test('of two replicas with leader election, one reconciles; when it stops it releases the Lease, and the other one continues', async t => {
  const {clock, client, manage, lease} = await aServer(t);
  const seen: string[] = [];
  const replica = (identity: string) =>
    manage(name => {
      if (name === 'first' || name === 'second') seen.push(`${identity} ${name}`);
      return Promise.resolve();
    }, election(identity));
  const [a, b] = [replica('a'), replica('b')];
  const ended = a.start();
  await a.manager.ready;
  void b.start();
  await clock.advance(60_000);
  t.deepEqual(seen, ['a first']);
  t.deepEqual([a.manager.isLeader, b.manager.isLeader], [true, false]);
  t.like(await lease(), {holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0});

  a.stop();
  await clock.drain();
  t.is(await ended, 'stopped');
  t.is((await lease())?.holderIdentity, '');
  await clock.advance(5000);
  await client.resource(ConfigMap).create({metadata: {name: 'second', namespace: 'default'}});
  await clock.drain();
  t.deepEqual(seen, ['a first', 'b first', 'b second']);
  t.like(await lease(), {holderIdentity: 'b', leaseTransitions: 1});
  const events = await client.resource(Event).list({namespace: 'default'});
  t.true(events.items.some(({message, source}) => message === 'b became leader' && source?.component === 'maps-operator'));
});

test('the times and the name of the election are those of the options', async t => {
  const {clock, client, manage} = await aServer(t);
  const replica = manage(() => Promise.resolve(), {
    leaderElection: {namespace: 'default', name: 'own', identity: 'a', leaseDuration: '40s', renewDeadline: '30s', retryPeriod: '20s'},
  });
  void replica.start();
  await replica.manager.ready;
  const renewed = async () => (await client.resource(Lease).get('own', {namespace: 'default'})).spec?.renewTime;
  const first = await renewed();
  await clock.advance(19_000);
  t.is(await renewed(), first);
  await clock.advance(2000);
  t.not(await renewed(), first);
  t.is((await client.resource(Lease).get('own', {namespace: 'default'})).spec?.leaseDurationSeconds, 40);
});

test('a replica that cannot renew its Lease stops its controllers, and reports that the lead is lost', async t => {
  const {clock, client, manage} = await aServer(t);
  const replica = manage(() => Promise.resolve(), election('a'));
  const ended = replica.start();
  await replica.manager.ready;
  const leases = client.resource(Lease);
  const found = await leases.get('maps-operator', {namespace: 'default'});
  await leases.update({...found, spec: {...found.spec, holderIdentity: 'b', leaseDurationSeconds: 3600}});
  await clock.advance(30_000);

  t.is(await ended, 'lost');
  t.false(replica.manager.isLeader);
});

test('leader election with times that cannot work is refused', async t => {
  const {manage} = await aServer(t);
  const error = t.throws(() =>
    manage(() => Promise.resolve(), {leaderElection: {namespace: 'default', leaseDuration: '5s', renewDeadline: '10s'}}),
  );
  t.regex(error.message, /^leaderElection: .*lease-duration must be greater than/);
});

test('a replica is ready when it stands by or when its caches are synced, and not while it leads without them', async t => {
  const {clock, manage} = await aServer(t);
  const alone = manage(() => Promise.resolve());
  t.is((await alone.manager.readiness()).status, 500);
  t.is((await alone.manager.health()).status, 200);
  void alone.start();
  await alone.manager.ready;
  t.deepEqual(await alone.manager.readiness(), {status: 200, body: 'ok'});

  const [leader, standby] = [manage(() => Promise.resolve(), election('a')), manage(() => Promise.resolve(), election('b'))];
  void leader.start();
  await leader.manager.ready;
  void standby.start();
  await clock.advance(1000);
  t.is((await standby.manager.readiness()).status, 200);
});

test("a user's checks decide health and readiness too, and may not replace the manager's own", async t => {
  const {manage} = await aServer(t);
  let isWell = false;
  const check = () => {
    if (!isWell) throw new Error('the disk is full');
  };
  const {manager, start} = manage(() => Promise.resolve(), {healthChecks: {disk: check}, readyChecks: {disk: check}});
  void start();
  await manager.ready;
  t.deepEqual(await manager.health(), {
    status: 500,
    body: '[-]disk failed: reason withheld\n[+]maps ok\nhealthz check failed\n',
  });
  t.is((await manager.readiness()).status, 500);
  isWell = true;
  t.is((await manager.health()).status, 200);
  t.is((await manager.readiness()).status, 200);

  for (const name of ['maps', 'leaderElection'])
    t.throws(() => manage(() => Promise.resolve(), {healthChecks: {[name]: check}}), {instanceOf: TypeError}, name);
  t.throws(() => manage(() => Promise.resolve(), {readyChecks: {caches: check}}), {instanceOf: TypeError});
});

test('the metrics of reconciles have the names and results of controller-runtime', async t => {
  const {clock, client, manage} = await aServer(t);
  const attempts = new Map<string, number>();
  const active: unknown[] = [];
  const {manager, start} = manage(async name => {
    const attempt = (attempts.get(name) ?? 0) + 1;
    attempts.set(name, attempt);
    if (name === 'hopeless') throw new Terminal('hopeless');
    if (name === 'late' && attempt === 1) throw new Error('not yet');
    if (name === 'first' && attempt === 1) return againAfter('1s');
    if (name === 'counted') active.push((await manager.metrics()).body.match(/^controller_runtime_active_workers.*$/m)?.[0]);
  }, election('a'));
  void start();
  await manager.ready;
  const before = (await manager.metrics()).body;
  t.regex(before, /^controller_runtime_terminal_reconcile_errors_total\{controller="maps"\} 0$/m);
  for (const name of ['hopeless', 'late']) await client.resource(ConfigMap).create({metadata: {name, namespace: 'default'}});
  await clock.advance(20_000);
  await client.resource(ConfigMap).create({metadata: {name: 'counted', namespace: 'default'}});
  await clock.drain();
  t.deepEqual(active, ['controller_runtime_active_workers{controller="maps"} 1']);
  manager.meter.counter({name: 'copies_total', help: 'Copies that were made.'}).add();

  const {contentType, body} = await manager.metrics();
  const lines = body.split('\n');
  t.regex(contentType, /^text\/plain/);
  for (const line of [
    'controller_runtime_reconcile_total{controller="maps",result="error"} 2',
    'controller_runtime_reconcile_total{controller="maps",result="requeue_after"} 1',
    'controller_runtime_reconcile_errors_total{controller="maps"} 2',
    'controller_runtime_terminal_reconcile_errors_total{controller="maps"} 1',
    'controller_runtime_max_concurrent_reconciles{controller="maps"} 3',
    'controller_runtime_active_workers{controller="maps"} 0',
    'workqueue_depth{name="maps",controller="maps",priority="0"} 0',
    'workqueue_depth{name="maps",controller="maps",priority="-100"} 0',
    'leader_election_master_status{name="maps-operator"} 1',
    'copies_total 1',
  ])
    t.true(lines.includes(line), line);
  t.regex(body, /^controller_runtime_reconcile_total\{controller="maps",result="success"\} [1-9]/m);
  t.regex(body, /^controller_runtime_reconcile_time_seconds_bucket\{(?=.*le="60")(?=.*controller="maps").*\} [1-9]/m);
});
