import {getEventListeners} from 'node:events';
import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Clock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {Client} from '#src/client/client.js';
import {Elector, type ElectorOptions} from '#src/runtime/leader-election/elector.js';
import {LeaseLock} from '#src/runtime/leader-election/lease-lock.js';
import {startServer} from '#test/fixtures/server.js';
import {FaultyClient} from './faulty-client.js';

const second = 1000;
const timing = {leaseDurationMs: 15 * second, renewDeadlineMs: 10 * second, retryPeriodMs: 2 * second};
const place = {namespace: 'plat-system', name: 'plat-controller-manager'};

/** Any number of replicas, each with its own client of the server, that contend for one lease. */
const contention = (t: ExecutionContext) => {
  const {clock, clientOf} = startServer();
  const leases = clientOf().resource(kinds.leases);
  const replica = (identity: string, {skewMs = 0, ...options}: Partial<ElectorOptions> & {skewMs?: number} = {}) => {
    const client = new FaultyClient(clientOf());
    const announced: string[] = [];
    const note = (_: unknown, reason: string, message: string) => void announced.push(`${reason} ${message}`);
    const lock = new LeaseLock({client: client as Client, ...place, events: {normal: note, warning: note}});
    const skewed: Clock = {
      now: () => clock.now() + skewMs,
      monotonic: () => clock.monotonic(),
      schedule: (ms, run) => clock.schedule(ms, run),
      hold: () => clock.hold(),
      keepAlive: () => clock.keepAlive(),
      unhandled: error => clock.unhandled(error),
    };
    const meter = new MetricsRegistry();
    const leaders: string[] = [];
    const elector = new Elector({
      lock,
      identity,
      clock: skewed,
      random: seededRandom(identity.length),
      log: noLog,
      meter,
      onNewLeader: leader => leaders.push(leader),
      ...timing,
      ...options,
    });
    const stop = new AbortController();
    const life: {led: boolean; leading: boolean; startedAt?: number; endedAt?: number; ending?: string; reason?: unknown} = {
      led: false,
      leading: false,
    };
    const run = async () => {
      life.ending = await elector.run(stop.signal, async signal => {
        life.led = life.leading = true;
        life.startedAt = clock.monotonic();
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), {once: true}));
        life.leading = false;
        life.endedAt = clock.monotonic();
        life.reason = signal.reason;
      });
    };
    const start = async () => {
      void run();
      await clock.drain();
    };
    t.teardown(() => stop.abort());
    return {client, elector, life, start, announced, leaders, meter, signal: stop.signal, stop: () => stop.abort(new Error('stop'))};
  };
  const lease = async () => (await leases.get(place.name, {namespace: place.namespace})).spec;
  return {clock, leases, lease, replica};
};

test('the first replica creates the lease, leads and records it', async t => {
  const {lease, replica, clock} = contention(t);
  const a = replica('a');

  await a.start();

  t.true(a.life.leading && a.elector.isLeader);
  t.deepEqual(await lease(), {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions: 0,
  });
  t.deepEqual(a.announced, ['LeaderElection a became leader']);
  t.is(a.meter.value('leader_election_master_status', {name: place.name}), 1);
  await clock.advance(60 * second);
  t.is((await lease())?.acquireTime, '2026-01-01T00:00:00.000000Z');
  t.true(a.client.calls.filter(call => call === 'get leases').length === 1, 'renewals write without reading');
});

test('the second stands by without a write for as long as the first renews', async t => {
  const {replica, clock} = contention(t);
  const [a, b] = [replica('a'), replica('b')];
  await a.start();

  await b.start();
  await clock.advance(600 * second);

  t.true(a.life.leading);
  t.false(b.life.led);
  t.deepEqual([...new Set(b.client.calls)], ['get leases']);
  t.is(b.elector.leader, 'a');
  t.is(b.meter.value('leader_election_master_status', {name: place.name}), 0);
});

test('a takeover happens a full lease duration after the last observed change, and counts a transition', async t => {
  const {lease, replica, clock} = contention(t);
  const [a, b] = [replica('a'), replica('b')];
  await a.start();
  await b.start();
  await clock.advance(20 * second);
  a.client.always(() => 'hang');
  const lastRenewal = Date.parse(String((await lease())?.renewTime)) - Date.parse('2026-01-01T00:00:00Z');

  await clock.advance(60 * second);

  t.true(b.life.leading);
  const waited = b.life.startedAt! - lastRenewal;
  t.true(waited >= 15 * second, `${waited} ms`);
  // Seen at most one retry late, and taken at most one retry after it ran out: each up to 2.2 periods.
  t.true(waited <= 15 * second + 2 * 2.2 * 2 * second, `${waited} ms`);
  t.is((await lease())?.leaseTransitions, 1);
  t.is((await lease())?.holderIdentity, 'b');
});

test('a holder that cannot renew stops leading exactly at the deadline, before a takeover is possible', async t => {
  const {replica, clock} = contention(t);
  const [a, b] = [replica('a'), replica('b')];
  await a.start();
  await b.start();
  await clock.advance(20 * second);
  a.client.always(() => new Error('connection refused'));
  const cutAt = clock.monotonic();

  await clock.advance(60 * second);

  // The window opens with the first renewal after the cut.
  t.is(a.life.endedAt! - cutAt, timing.retryPeriodMs + timing.renewDeadlineMs);
  t.is(a.life.ending, 'lost');
  t.true(b.life.startedAt! > a.life.endedAt!);
  t.is(a.announced.at(-1), 'LeaderElection a stopped leading');
  t.is(a.meter.value('leader_election_master_status', {name: place.name}), 0);
});

test('a renewal that hangs ends at the deadline too', async t => {
  const {replica, clock} = contention(t);
  const a = replica('a');
  await a.start();
  await clock.advance(20 * second);
  a.client.always(() => 'hang');
  const cutAt = clock.monotonic();

  await clock.advance(60 * second);

  t.is(a.life.endedAt! - cutAt, timing.retryPeriodMs + timing.renewDeadlineMs);
});

test('a short outage within the deadline changes nothing', async t => {
  const {lease, replica, clock} = contention(t);
  const [a, b] = [replica('a'), replica('b')];
  await a.start();
  await b.start();
  await clock.advance(20 * second);

  a.client.always(() => new Error('connection refused'));
  await clock.advance(9 * second);
  a.client.always(undefined);
  await clock.advance(60 * second);

  t.true(a.life.leading);
  t.false(b.life.led);
  t.is((await lease())?.leaseTransitions, 0);
});

for (const hours of [-5, 5]) {
  test(`a holder whose clock is ${hours} hours off keeps the lead while it lives and loses it a lease after it dies`, async t => {
    const {replica, clock} = contention(t);
    const [a, b] = [replica('a', {skewMs: hours * 3_600_000}), replica('b')];
    await a.start();
    await b.start();
    await clock.advance(300 * second);
    t.false(b.life.led);

    a.client.always(() => 'hang');
    const cutAt = clock.monotonic();
    await clock.advance(60 * second);

    t.true(b.life.leading);
    t.true(b.life.startedAt! - cutAt > 13 * second);
  });
}

test('an update that conflicts is no success: the lock is read and its holder leads', async t => {
  const {leases, replica, clock} = contention(t);
  const a = replica('a');
  await a.start();
  await clock.advance(2 * second);
  const found = await leases.get(place.name, {namespace: place.namespace});
  await leases.update({...found, spec: {...found.spec, holderIdentity: 'usurper'}});

  await clock.advance(30 * second);

  t.is(a.life.ending, 'lost');
  t.deepEqual(a.leaders.slice(0, 2), ['a', 'usurper']);
});

test('a foreign change that leaves the holder in place costs one slow renewal', async t => {
  const {leases, lease, replica, clock} = contention(t);
  const a = replica('a');
  await a.start();
  const found = await leases.get(place.name, {namespace: place.namespace});
  await leases.update({...found, metadata: {...found.metadata, labels: {touched: 'yes'}}});

  await clock.advance(10 * second);

  t.true(a.life.leading);
  t.is(a.meter.value('leader_election_slowpath_total', {name: place.name}), 1);
  t.is((await lease())?.acquireTime, '2026-01-01T00:00:00.000000Z');
  t.is((await leases.get(place.name, {namespace: place.namespace})).metadata?.labels?.touched, 'yes');
});

test('a lease deleted while held is created again by its leader', async t => {
  const {leases, lease, replica, clock} = contention(t);
  const a = replica('a');
  await a.start();
  await clock.advance(4 * second);

  await leases.delete(place.name, {namespace: place.namespace});
  await clock.advance(4 * second);

  t.true(a.life.leading);
  t.is((await lease())?.holderIdentity, 'a');
});

test('an empty holder is replaced at once', async t => {
  const {leases, lease, replica} = contention(t);
  await leases.create({metadata: place, spec: {holderIdentity: '', leaseDurationSeconds: 3600, leaseTransitions: 4}});
  const a = replica('a');

  await a.start();

  t.true(a.life.leading);
  t.is((await lease())?.leaseTransitions, 5);
});

test('each change of leader counts one transition, whichever replica takes over', async t => {
  const {lease, replica, clock} = contention(t);
  for (const [index, identity] of ['a', 'b', 'c'].entries()) {
    const next = replica(identity);
    await next.start();
    await clock.advance(60 * second);
    t.true(next.life.leading);
    t.is((await lease())?.leaseTransitions, index);
    next.stop();
    await clock.drain();
  }
});

test('two replicas on one host are two, and exactly one leads', async t => {
  const {replica, clock} = contention(t);
  const [a, b] = [replica('host_1b4e'), replica('host_77aa')];

  await Promise.all([a.start(), b.start()]);
  await clock.advance(60 * second);

  t.is([a, b].filter(({life}) => life.leading).length, 1);
});

test('retries of a standby are one to 2.2 periods apart', async t => {
  const {replica, clock} = contention(t);
  const [a, b] = [replica('a'), replica('b')];
  await a.start();
  const at: number[] = [];
  b.client.always(() => void at.push(clock.monotonic()) as undefined);
  await b.start();

  await clock.advance(600 * second);

  const gaps = at.slice(1).map((time, index) => time - at[index]!);
  t.true(gaps.length > 100);
  t.true(gaps.every(gap => gap >= 2 * second && gap < 4.4 * second));
  t.true(Math.max(...gaps) > 4 * second && Math.min(...gaps) < 2.4 * second);
});

test('a new leader is reported once for each change of holder, the first one seen included', async t => {
  const {replica, clock} = contention(t);
  const [a, b] = [replica('a'), replica('b')];
  await a.start();
  await b.start();
  await clock.advance(60 * second);
  a.stop();

  await clock.advance(60 * second);

  t.deepEqual(b.leaders, ['a', 'b']);
  t.deepEqual(a.leaders, ['a']);
});

test('stopped, a leader leaves its lease to run out', async t => {
  const {lease, replica, clock} = contention(t);
  const a = replica('a');
  await a.start();

  a.stop();
  await clock.drain();

  t.is(a.life.ending, 'stopped');
  t.is((await lease())?.holderIdentity, 'a');
});

test('many renewals leave nothing behind', async t => {
  const {replica, clock} = contention(t);
  const a = replica('a');
  await a.start();
  await clock.advance(60 * second);
  const [listeners, timers] = [getEventListeners(a.signal, 'abort').length, clock.pending];

  await clock.advance(600 * second);

  t.is(getEventListeners(a.signal, 'abort').length, listeners);
  t.is(clock.pending, timers);
});

test('on shutdown, it releases the lease after its work has ended, and the next one takes it at once', async t => {
  const {lease, replica, clock} = contention(t);
  const [a, b] = [replica('a', {releaseOnStop: true}), replica('b')];
  await a.start();
  await b.start();
  await clock.advance(10 * second);

  a.stop();
  await clock.drain();
  t.like(await lease(), {holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0});
  await clock.advance(4.4 * second);

  t.true(b.life.leading);
  t.is((await lease())?.leaseTransitions, 1);
});

test("a lease that is another one's by now is not given up", async t => {
  const {leases, lease, replica, clock} = contention(t);
  const a = replica('a', {releaseOnStop: true});
  await a.start();
  const found = await leases.get(place.name, {namespace: place.namespace});
  await leases.update({...found, spec: {...found.spec, holderIdentity: 'b'}});

  a.stop();
  await clock.drain();

  t.is((await lease())?.holderIdentity, 'b');
});

test('a holder that hangs past its lease and tolerance is ill, a standby never', async t => {
  const {replica, clock} = contention(t);
  const [a, b] = [replica('a', {leaseDurationMs: 60 * second, renewDeadlineMs: 50 * second, retryPeriodMs: 40 * second}), replica('b')];
  await a.start();
  await b.start();
  t.notThrows(() => a.elector.check());
  a.client.always(() => 'hang');

  await clock.advance(81 * second);

  t.throws(() => a.elector.check(), {message: 'failed election to renew leadership on lease plat-controller-manager'});
  t.notThrows(() => b.elector.check());
});

test('a failure of the leading work ends the leadership', async t => {
  const {clock, clientOf} = startServer();
  const lock = new LeaseLock({client: clientOf(), ...place});
  const elector = new Elector({lock, identity: 'a', clock, random: seededRandom(1), log: noLog, meter: new MetricsRegistry(), ...timing});

  await t.throwsAsync(
    elector.run(new AbortController().signal, () => Promise.reject(new Error('cannot be started'))),
    {message: 'cannot be started'},
  );
});

test('settings that cannot work are refused, in one sentence', t => {
  const {replica} = contention(t);
  const first = (part: Partial<typeof timing>) => t.throws(() => replica('a', part)).message;

  t.notThrows(() => replica('a', {retryPeriodMs: 8333}));
  t.is(first({leaseDurationMs: 10 * second}), '--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline');
  t.is(first({retryPeriodMs: 8334}), '--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period');
  t.is(first({retryPeriodMs: 0}), 'the times of an election must be greater than 0');
  t.is(first({leaseDurationMs: 999, renewDeadlineMs: 100, retryPeriodMs: 10}), '--leader-elect-lease-duration must be at least one second');
  t.throws(() => replica(''), {message: 'the identity of an elector must not be empty'});
});
