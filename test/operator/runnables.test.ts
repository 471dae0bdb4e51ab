import test, {type ExecutionContext} from 'ava';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {createManager, defineController, type ManagerOptions, type Runnable} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';
import {abortOf} from '#src/runtime/shutdown.js';
import {startServer} from '#test/fixtures/server.js';

/** A server with one ConfigMap, and replicas of an operator for it that note what they do. */
const replicas = async (t: ExecutionContext) => {
  const {clock, clientOf} = startServer();
  const client = clientOf();
  const notes: string[] = [];
  await client.resource(ConfigMap).create({metadata: {name: 'first', namespace: 'default'}});
  const replica = (identity: string, options: Partial<ManagerOptions> = {}) => {
    const controller = defineController<ConfigMap>({
      name: 'maps',
      for: ConfigMap,
      async reconcile({key}) {
        notes.push(`${identity} reconciles ${key.name}`);
      },
    });
    const stop = new AbortController();
    const manager = createManager({
      name: 'maps-operator',
      controllers: [controller],
      client,
      clock,
      random: seededRandom(1),
      log: noLog,
      gracePeriod: '3s',
      leaderElection: {namespace: 'default', identity},
      ...options,
    });
    const run = manager.run(stop.signal);
    run.catch(() => {});
    t.teardown(async () => {
      stop.abort();
      await clock.advance(5_000);
      await run.catch(() => {});
    });
    return {manager, run, stop: () => stop.abort()};
  };
  /** A runnable that notes its begin and its end. */
  const noted = (name: string, rest: Partial<Runnable> = {}): Runnable => ({
    name,
    async start({signal}) {
      notes.push(`${name} begins`);
      await abortOf(signal);
      notes.push(`${name} ends`);
    },
    ...rest,
  });
  return {clock, client, notes, replica, noted};
};

test('a replica with warm caches reconciles when it leads without listing, also what was deleted and added meanwhile', async t => {
  const {clock, client, notes, replica} = await replicas(t);
  const leader = replica('a');
  await leader.manager.ready;
  const standby = replica('b', {warmup: true});
  const attempts = async () => (await standby.manager.metrics()).body.match(/^informer_attempts_total\{.*configmaps.*$/gm);
  await clock.advance(60_000);
  const before = await attempts();
  t.true((before ?? []).length > 0);
  await client.resource(ConfigMap).create({metadata: {name: 'second', namespace: 'default'}});
  await client.resource(ConfigMap).delete('first', {namespace: 'default'});
  await clock.drain();
  t.deepEqual(
    notes.filter(note => note.startsWith('b')),
    [],
  );

  leader.stop();
  await clock.advance(5_000);

  t.true(standby.manager.isLeader);
  await standby.manager.ready;
  t.deepEqual(
    notes.filter(note => note.startsWith('b')),
    ['b reconciles second'],
  );
  t.deepEqual(await attempts(), before);
});

test('runnables begin with the manager or with the lead, and end in the opposite order before the run does', async t => {
  const {clock, notes, replica, noted} = await replicas(t);
  const leader = replica('a', {controllers: []});
  await leader.manager.ready;
  const server = noted('server', {needsLeaderElection: false});
  const standby = replica('b', {controllers: [], runnables: [noted('poll'), server]});
  await clock.advance(1_000);
  t.deepEqual(notes, ['server begins']);
  leader.stop();
  await clock.advance(5_000);
  t.deepEqual(notes, ['server begins', 'poll begins']);
  await standby.manager.add(noted('late'));
  t.is(notes.at(-1), 'late begins');
  t.true(await standby.manager.remove('late'));
  t.is(notes.at(-1), 'late ends');

  notes.length = 0;
  standby.stop();
  await clock.drain();
  t.is(await standby.run, 'stopped');
  t.deepEqual(notes, ['poll ends', 'server ends']);
});

test('a runnable that fails ends the manager with its error, and one that does not end makes it stuck', async t => {
  const {clock, notes, replica, noted} = await replicas(t);
  const failing = noted('failing', {
    async start({clock: own}) {
      await new Promise(resolve => own.schedule(10_000, () => resolve(undefined)));
      throw new Error('the port is taken');
    },
  });
  const failed = replica('a', {runnables: [failing, noted('other', {needsLeaderElection: false})]});
  await failed.manager.ready;
  await clock.advance(10_000);
  await t.throwsAsync(failed.run, {message: 'the port is taken'});
  t.deepEqual(notes.slice(-1), ['other ends']);

  // The lease was released.
  const stubborn = replica('b', {runnables: [noted('stubborn', {start: () => new Promise(() => {}), needsLeaderElection: false})]});
  await clock.advance(5_000);
  t.true(stubborn.manager.isLeader);
  stubborn.stop();
  await clock.advance(3_000);
  t.is(await stubborn.run, 'stuck');
});

test('names of runnables are those of controllers', async t => {
  const {replica, noted, client} = {...(await replicas(t))};
  t.throws(() => createManager({controllers: [], runnables: [noted('No Name')], client}), {message: /^runnable name "No Name"/});
  const {manager} = replica('a', {runnables: [noted('poll')]});
  await t.throwsAsync(manager.add(noted('poll')));
});
