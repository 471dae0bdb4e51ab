import test, {type ExecutionContext} from 'ava';
import {Subject} from 'rxjs';
import {abortOf} from '#src/runtime/shutdown.js';
import type {Clock} from '#src/base/clock.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {createLog} from '#src/observe/log.js';
import {createManager, defineController, fromEvents, mapped, type ManagerOptions, type OperatorController} from '#src/operator/index.js';
import {ConfigMap, Secret} from '#src/operator/kinds.js';
import {startServer} from '#test/fixtures/server.js';

const namespace = 'default';

/** The clock without its holds: time passes while a reconcile hangs. */
const passing = (clock: VirtualClock): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  schedule: (ms, run) => clock.schedule(ms, run),
  unhandled: error => clock.unhandled(error),
  keepAlive: () => clock.keepAlive(),
  hold: () => ({[Symbol.dispose]() {}}),
});

/** A controller under a manager, and the lines of its log. */
const running = async (
  t: ExecutionContext,
  controller: OperatorController,
  options: Partial<ManagerOptions> = {},
  clockOf: (clock: VirtualClock) => Clock = passing,
) => {
  const {clock, clientOf} = startServer();
  const client = clientOf();
  const lines: string[] = [];
  const log = createLog({clock, program: 'maps', write: line => void lines.push(line)});
  const manager = createManager({
    controllers: [controller],
    client,
    clock: clockOf(clock),
    log,
    freeze: true,
    gracePeriod: '1s',
    ...options,
  });
  const stop = new AbortController();
  const run = manager.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await clock.advance(1_000);
    await run;
  });
  await manager.ready;
  const metric = async (name: string) =>
    Number(new RegExp(`^${name}\\{controller="maps".*\\} (.*)$`, 'm').exec((await manager.metrics()).body)?.[1] ?? NaN);
  const said = (message: string) => lines.filter(line => line.includes(message));
  const make = async (kind: typeof ConfigMap | typeof Secret, name: string) => {
    await client.resource<ConfigMap>(kind as typeof ConfigMap).create({metadata: {name, namespace}});
    await clock.drain();
  };
  return {clock, manager, metric, said, make};
};

test('a reconcile that reaches its time limit is aborted, counted, logged and retried', async t => {
  const seen: string[] = [];
  const controller = defineController<ConfigMap>({
    name: 'maps',
    for: ConfigMap,
    retry: {delay: '10s'},
    async reconcile({key, signal}) {
      if (key.name !== 'slow') return;
      seen.push('begins');
      if (seen.length > 1) return;
      await abortOf(signal);
      signal.throwIfAborted();
    },
  });
  const {clock, manager, metric, said, make} = await running(t, controller, {reconcileTimeout: '30s'});

  await make(ConfigMap, 'slow');
  await clock.advance(29_000);
  t.is(await metric('controller_runtime_reconcile_timeouts_total'), 0);
  await clock.advance(1_000);
  t.is(await metric('controller_runtime_reconcile_timeouts_total'), 1);
  t.is(said('reconciling takes longer than its limit and is aborted').length, 1);
  t.regex(said('reconciling failed and is tried again')[0] ?? '', /the reconcile took longer than its limit of 30s/);
  t.is((await manager.health()).status, 200);
  await clock.advance(10_000);

  t.deepEqual(seen, ['begins', 'begins']);
});

test('virtual time passes up to the limit of a reconcile that hangs', async t => {
  const aborted: number[] = [];
  const controller = defineController<ConfigMap>({
    name: 'maps',
    for: ConfigMap,
    retry: {delay: '10s'},
    async reconcile({key, signal}) {
      if (aborted.length > 0 || key.name !== 'slow') return;
      await abortOf(signal);
      aborted.push(plane.clock.monotonic());
      signal.throwIfAborted();
    },
  });
  const plane = await running(t, controller, {reconcileTimeout: '30s'}, clock => clock);
  const before = plane.clock.monotonic();

  void plane.make(ConfigMap, 'slow');
  await plane.clock.advance(100_000);

  t.deepEqual(
    aborted.map(at => at - before),
    [30_000],
  );
  t.is(await plane.metric('controller_runtime_reconcile_timeouts_total'), 1);
});

test('a reconcile that ignores its limit is unhealthy, and one without a limit is only reported', async t => {
  const hanging = (limit: object) =>
    defineController<ConfigMap>({
      name: 'maps',
      for: ConfigMap,
      ...limit,
      reconcile: ({key}) => (key.name === 'slow' ? new Promise(() => {}) : Promise.resolve()),
    });
  const limited = await running(t, hanging({reconcileTimeout: '1m'}));
  await limited.make(ConfigMap, 'slow');
  await limited.clock.advance(120_000);
  t.is((await limited.manager.health()).status, 200);
  await limited.clock.advance(1_000);
  t.is((await limited.manager.health()).status, 500);

  const unlimited = await running(t, hanging({}));
  await unlimited.make(ConfigMap, 'slow');
  await unlimited.clock.advance(59_000);
  t.deepEqual(unlimited.said('has not ended yet'), []);
  await unlimited.clock.advance(600_000);
  t.regex(unlimited.said('has not ended yet').join(''), /key="default\/slow"/);
  t.is(unlimited.said('has not ended yet').length, 1);
  t.is((await unlimited.manager.health()).status, 200);
});

test('an event whose mapping throws is mapped again, while its source stays open', async t => {
  const seen: string[] = [];
  const events = new Subject<string>();
  let opened = 0;
  let tries = 0;
  const keys = (name: string) => {
    if (name === 'unready' && ++tries < 3) throw new Error('not now');
    return [{namespace, name}];
  };
  const open = () => {
    opened++;
    return events;
  };
  const controller = defineController({
    name: 'maps',
    for: ConfigMap,
    sources: [fromEvents(open, {name: 'bucket', keys})],
    async reconcile({key}) {
      seen.push(key.name);
    },
  });
  const {clock, metric, said} = await running(t, controller);

  events.next('unready');
  events.next('other');
  await clock.drain();
  t.deepEqual(seen, ['other']);
  await clock.advance(5_000);
  t.deepEqual(seen, ['other', 'unready']);
  t.deepEqual([tries, opened], [3, 1]);
  t.is(await metric('plat_operator_mapping_failures_total'), 2);
  t.is(said('mapping a change to keys failed and is tried again').length, 1);
});

test('a mapping that throws is counted, logged once, and repeated until it succeeds', async t => {
  const seen: string[] = [];
  let tries = 0;
  const controller = defineController({
    name: 'maps',
    for: ConfigMap,
    watches: [
      mapped(Secret, ({metadata}) => {
        if (metadata.name === 'watched' && ++tries < 3) throw new Error('not now');
        return [{namespace, name: `of-${metadata.name}`}];
      }),
    ],
    async reconcile({key}) {
      if (key.name.startsWith('of-')) seen.push(key.name);
    },
  });
  const {clock, metric, said, make} = await running(t, controller);

  await make(Secret, 'watched');
  t.deepEqual(seen, []);
  await clock.advance(5_000);
  t.deepEqual(seen, ['of-watched']);
  t.is(tries, 3);
  t.is(await metric('plat_operator_mapping_failures_total'), 2);
  t.is(said('mapping a change to keys failed and is tried again').length, 1);
});
