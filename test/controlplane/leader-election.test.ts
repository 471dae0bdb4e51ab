import test, {type ExecutionContext} from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {wireMicroTime} from '#src/api/time.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {coordinateElections} from '#src/controlplane/leader-election/run.js';
import {Candidate} from '#src/runtime/lease-candidate.js';
import {Elector} from '#src/runtime/leader-election/elector.js';
import {LeaseLock} from '#src/runtime/leader-election/lease-lock.js';
import {startServer} from '#test/fixtures/server.js';

const second = 1000;
const timing = {leaseDurationMs: 15 * second, renewDeadlineMs: 10 * second, retryPeriodMs: 2 * second};
const place = {namespace: 'plat-system', name: 'plat-controller-manager'};
const watchSeconds = 86_400;

type LeaseCandidate = ObjectOf<typeof kinds.leaseCandidates>;

/** A server that elects leaders, and replicas that are candidates. */
const elections = async (t: ExecutionContext) => {
  const gate = (name: string) => name === 'CoordinatedLeaderElection';
  const {clock, clientOf} = startServer({gate});
  const client = clientOf();
  const stop = new AbortController();
  const parts = {clock, random: seededRandom(1), log: noLog, meter: noMeter};
  await client.resource(kinds.namespaces).create({metadata: {name: place.namespace}});
  void coordinateElections({...parts, client, gate, watchSeconds}, timing, stop.signal);
  await clock.drain();

  const replica = async (identity: string, emulationVersion = '1.35.0', binaryVersion = '1.35.0') => {
    const ending = new AbortController();
    const {signal} = ending;
    const own = {...parts, random: seededRandom(identity.length)};
    const lock = new LeaseLock({client: clientOf(), ...place});
    const elector = new Elector({...own, lock, identity, ...timing, coordinated: true});
    const candidate = new Candidate({client: clientOf(), lock: place, binaryVersion, emulationVersion}, {...own, watchSeconds});
    const life = {isLeading: false, ending: '', end: () => ending.abort()};
    candidate.run(identity, signal).catch(() => {});
    const led = elector.run(signal, async leading => {
      life.isLeading = true;
      await new Promise<void>(resolve => leading.addEventListener('abort', () => resolve(), {once: true}));
      life.isLeading = false;
    });
    led.then(
      how => (life.ending = how),
      () => {},
    );
    await clock.drain();
    t.teardown(() => ending.abort());
    return life;
  };
  const candidates = client.resource(kinds.leaseCandidates);
  const aCandidate = (name: string, spec: Partial<LeaseCandidate['spec']> = {}) =>
    candidates.create({
      metadata: {name, namespace: place.namespace},
      spec: {
        leaseName: place.name,
        binaryVersion: '1.35.0',
        emulationVersion: '1.35.0',
        strategy: 'OldestEmulationVersion',
        renewTime: wireMicroTime(clock.now()),
        ...spec,
      } as never,
    });
  const leases = client.resource(kinds.leases);
  const lease = async () =>
    leases.get(place.name, {namespace: place.namespace}).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return undefined;
    });
  t.teardown(() => stop.abort());
  return {clock, replica, aCandidate, candidates, leases, lease};
};

test('the candidate with the oldest emulated version leads, by a lease that names the strategy', async t => {
  const {clock, replica, lease} = await elections(t);
  const newer = await replica('newer', '1.35.0');
  const older = await replica('older', '1.34.0');

  await clock.advance(30 * second);
  t.deepEqual([newer.isLeading, older.isLeading], [false, true]);
  const {spec} = (await lease())!;
  t.like(spec, {holderIdentity: 'older', strategy: 'OldestEmulationVersion', leaseDurationSeconds: 15});
  t.is(spec!.preferredHolder, undefined);
  t.truthy(spec!.acquireTime);
});

test('among equal emulated versions the oldest program leads, and of equal programs the oldest candidate', async t => {
  const {clock, replica} = await elections(t);
  const first = await replica('first', '1.34.0', '1.35.1');
  await clock.advance(second);
  const second_ = await replica('second', '1.34.0', '1.35.0');
  await clock.advance(second);
  const third = await replica('third', '1.34.0', '1.35.0');

  await clock.advance(60 * second);
  t.deepEqual([first.isLeading, second_.isLeading, third.isLeading], [false, true, false]);
});

test('a better candidate becomes the preferred holder, and takes over when the lease of the leader is over', async t => {
  const {clock, replica, lease} = await elections(t);
  const leader = await replica('leader', '1.35.0');
  await clock.advance(20 * second);
  t.true(leader.isLeading);

  const better = await replica('better', '1.33.0');
  await clock.advance(12 * second);
  t.like((await lease())!.spec, {holderIdentity: 'leader', preferredHolder: 'better'});
  await clock.advance(30 * second);
  t.is(leader.ending, 'lost');
  t.deepEqual([leader.isLeading, better.isLeading], [false, true]);
  t.like((await lease())!.spec, {holderIdentity: 'better'});
  t.is((await lease())!.spec!.preferredHolder, undefined);
});

test('two replicas never lead at the same time', async t => {
  const {clock, replica} = await elections(t);
  const lives = [await replica('a', '1.35.0')];
  for (let i = 0; i < 90; i++) {
    if (i === 20) lives.push(await replica('b', '1.34.0'));
    if (i === 50) lives.push(await replica('c', '1.33.0'));
    await clock.advance(second);
    t.true(lives.filter(({isLeading}) => isLeading).length <= 1);
  }
  t.true(lives[2]!.isLeading);
});

test('another candidate is elected when the leader is gone, and one that does not answer is not', async t => {
  const {clock, replica, aCandidate, lease} = await elections(t);
  const leader = await replica('leader', '1.34.0');
  await clock.advance(20 * second);
  await aCandidate('silent', {emulationVersion: '1.33.0', renewTime: wireMicroTime(clock.now() - 60 * second)});
  const other = await replica('other', '1.35.0');
  leader.end();

  await clock.advance(40 * second);
  t.true(other.isLeading);
  t.is((await lease())!.spec!.holderIdentity, 'other');
});

test('a candidate never creates or takes the lease itself', async t => {
  const {clock, clientOf} = startServer();
  const lock = new LeaseLock({client: clientOf(), ...place});
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const elector = new Elector({
    lock,
    identity: 'a',
    ...timing,
    coordinated: true,
    clock,
    random: seededRandom(1),
    log: noLog,
    meter: noMeter,
  });
  void elector.run(stop.signal, () => Promise.resolve());

  await clock.advance(60 * second);
  t.is((await clientOf().resource(kinds.leases).list({namespace: place.namespace})).items.length, 0);
  await clientOf()
    .resource(kinds.leases)
    .create({metadata: place, spec: {holderIdentity: 'b', leaseDurationSeconds: 1}});
  await clock.advance(60 * second);
  t.false(elector.isLeader);
});

test('a strategy of another controller gets a lease without holder, which is then left to that controller', async t => {
  const {clock, aCandidate, lease, leases} = await elections(t);
  await aCandidate('a', {strategy: 'example.com/by-moon', emulationVersion: ''});
  await clock.advance(second);

  const made = (await lease())!;
  t.is(made.spec!.strategy, 'example.com/by-moon');
  t.is(made.spec!.holderIdentity, undefined);
  const renewTime = wireMicroTime(clock.now() + 3600 * second);
  await leases.update({...made, spec: {...made.spec, holderIdentity: 'b', renewTime}});
  await clock.advance(20 * second);
  t.like((await lease())!.spec, {holderIdentity: 'b', renewTime});
  t.is((await lease())!.spec!.preferredHolder, undefined);
});

test('programs of one version that differ in the strategy elect no leader', async t => {
  const {clock, aCandidate, lease} = await elections(t);
  await aCandidate('b', {strategy: 'example.com/by-moon'});
  await clock.advance(second);
  await aCandidate('a');

  await clock.advance(10 * second);
  t.like((await lease())!.spec, {holderIdentity: undefined, strategy: 'example.com/by-moon'});
});

test('a lease without candidates is left alone', async t => {
  const {clock, leases} = await elections(t);
  const made = await leases.create({metadata: {name: 'mine', namespace: place.namespace}, spec: {holderIdentity: 'me'}});

  await clock.advance(60 * second);
  t.deepEqual(await leases.get('mine', {namespace: place.namespace}), made);
});

test('a candidate renews every five minutes and on request, and is deleted half an hour after it ended', async t => {
  const {clock, replica, candidates} = await elections(t);
  const life = await replica('a');
  const get = () => candidates.get('a', {namespace: place.namespace});
  const started = (await get()).spec!.renewTime;

  await clock.advance(301 * second);
  t.not((await get()).spec!.renewTime, started);
  const found = await get();
  const pingTime = wireMicroTime(clock.now() + 2 * second);
  await candidates.update({...found, spec: {...found.spec!, pingTime}} as LeaseCandidate);
  await clock.advance(100);
  t.is((await get()).spec!.renewTime as unknown, pingTime);

  life.end();
  await clock.advance(3700 * second);
  t.deepEqual((await candidates.list()).items, []);
});
