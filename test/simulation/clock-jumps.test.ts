import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Timeline} from '#src/simulation/time/timeline.js';
import {after, logOf} from './containers.js';
import {aPlaneWithNodes, describePod, podNamed, run, type BoundPod} from './environment.js';

const hour = 3_600_000;
const jumps = {'forward by two hours': 2 * hour, 'back by two hours': -2 * hour};

const probe = {exec: {command: ['true']}, initialDelaySeconds: 10};

/** What a pod is like after the wall clock was set two seconds after its start. */
const cases: readonly {readonly what: string; readonly pod: BoundPod; readonly at: Readonly<Record<number, string>>}[] = [
  {
    what: 'that may be active for a minute fails after a minute',
    pod: {activeDeadlineSeconds: 60},
    at: {57_000: 'Running: app ready', 59_000: 'Failed DeadlineExceeded: app Error(143)'},
  },
  {
    what: 'whose container runs for a minute ends after a minute',
    pod: {restartPolicy: 'Never', behavior: '{runFor: 60s}'},
    at: {58_000: 'Running: app ready', 58_100: 'Succeeded: app Completed(0)'},
  },
  {
    what: 'with probes is ready when they succeed',
    pod: {containers: [{name: 'app', image: 'nginx', startupProbe: probe, readinessProbe: {...probe, initialDelaySeconds: 20}}]},
    at: {18_000: 'Running: app running', 18_200: 'Running: app ready'},
  },
  {
    what: 'whose image takes a minute to come starts then',
    pod: {behavior: '{pullFor: 60s}', containers: [{name: 'app', image: 'slow'}]},
    at: {58_000: 'Pending: app ContainerCreating', 58_200: 'Running: app ready'},
  },
  {
    what: 'that crashes is started again after its backoff',
    pod: {behavior: '{runFor: 500ms, exitCode: 1}'},
    at: {9_500: 'Running: app CrashLoopBackOff after 1', 10_300: 'Running: app ready after 2'},
  },
];

for (const [way, ms] of Object.entries(jumps)) {
  test(`pods run, wait and end in their time, whose wall clock is set ${way}`, async t => {
    await using plane = await aPlaneWithNodes();
    for (const [index, {pod}] of cases.entries()) await run(plane, {...pod, name: `pod-${index}`});
    await plane.clock.advance(2_000);
    plane.clock.jump(ms);

    let passed = 0;
    const states = cases.flatMap(({what, at}, index) =>
      Object.entries(at).map(([moment, state]) => ({what, index, moment: Number(moment), state})),
    );
    for (const {what, index, moment, state} of states.sort((a, b) => a.moment - b.moment)) {
      await plane.clock.advance(moment - passed);
      passed = moment;
      t.is(describePod(await podNamed(plane, `pod-${index}`)), state, `a pod ${what}, ${moment} ms after the change`);
    }
  });

  test(`a deleted pod has its grace period, whose wall clock is set ${way}`, async t => {
    await using plane = await aPlaneWithNodes();
    const {clock} = plane;
    await run(plane, {behavior: '{stopAfter: never}'});
    await clock.advance(2_000);
    const client = plane.client();
    await client.resource(kinds.pods).delete('pod', {namespace: 'default', gracePeriodSeconds: 30});
    await clock.advance(1_000);
    clock.jump(ms);

    await clock.advance(27_000);
    t.is((await podNamed(plane)).metadata?.name, 'pod');
    await clock.advance(4_000);
    await t.throwsAsync(podNamed(plane), {message: /not found/});
  });

  test(`the times of a pod are those of the wall clock when they were noted, which is set ${way}`, async t => {
    await using plane = await aPlaneWithNodes();
    const {clock} = plane;
    const start = clock.now();
    await run(plane, {restartPolicy: 'Never', behavior: '{runFor: 60s}'});
    await clock.advance(10_000);
    const before = (await podNamed(plane)).status;
    clock.jump(ms);
    await clock.advance(60_000);
    const {status} = await podNamed(plane);
    const ended = status?.containerStatuses?.[0]?.state?.terminated;

    t.is(status?.startTime, before?.startTime);
    t.is(ended?.startedAt, before?.containerStatuses?.[0]?.state?.running?.startedAt);
    t.is(Date.parse(ended?.finishedAt ?? ''), start + ms + 60_000);
  });

  test(`a container goes on to log at its pace, and with the time of the wall clock, which is set ${way}`, async t => {
    await using plane = await aPlaneWithNodes();
    const {clock} = plane;
    const start = clock.now();
    await after(plane, {behavior: '{log: [{line: tick, every: 10s}]}'}, 25_000);
    const stampsOf = async (): Promise<number[]> =>
      String(await logOf(plane, {timestamps: 'true'}))
        .trimEnd()
        .split('\n')
        .map(line => Math.round((Date.parse(line.split(' ')[0]!) - start) / 1000));
    const before = await stampsOf();
    clock.jump(ms);
    await clock.advance(30_000);
    const stamps = await stampsOf();

    t.deepEqual(stamps.slice(0, before.length), before);
    t.is(stamps.length, before.length + 3);
    t.deepEqual(
      stamps.slice(-2),
      [40, 50].map(second => second + ms / 1000),
    );
  });
}

test('a pod that started on a clock that was ahead is ready and ends all the same after a restart', async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-clocks-'));
  t.teardown(() => rmSync(dataDir, {recursive: true}));
  const clock = new VirtualClock();
  const before = await aPlaneWithNodes({dataDir, clock});
  await run(before, {restartPolicy: 'Never', behavior: '{runFor: 60s, readyAfter: 5s}'});
  await clock.advance(10_000);
  await before.stop();
  clock.jump(-2 * hour);

  await using plane = await aPlaneWithNodes({dataDir, clock});
  await clock.advance(6_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready');
  await clock.advance(60_000);
  t.is(describePod(await podNamed(plane)), 'Succeeded: app Completed(0)');
});

test('a timeline goes on evenly, and finds the moment at which the wall clock showed a time', async t => {
  const clock = new VirtualClock(0);
  const even = new Timeline(clock);
  await clock.advance(1_000);
  clock.jump(100_000);
  t.is(even.now(), 1_000);
  await clock.advance(1_000);
  clock.jump(-99_900);
  even.now();
  await clock.advance(1_000);

  t.is(even.now(), 3_000);
  t.deepEqual(
    [500, 1_500, 2_500].map(at => even.wallOf(at)),
    [500, 101_500, 2_600],
  );
  t.deepEqual(
    [500, 101_500, 2_600].map(wall => even.timeOf(wall)),
    [500, 1_500, 2_500],
  );
  t.is(even.timeOf(3_090), 2_990);
  t.is(even.timeOf(500_000), 3_000);
});

test('a timeline remembers a bounded number of changes of the wall clock', async t => {
  const clock = new VirtualClock(0);
  const even = new Timeline(clock);
  for (let count = 0; count < 200; count++) {
    clock.jump(1_000);
    await clock.advance(10);
    even.now();
  }

  t.is(even.wallOf(2_000), 202_000);
  t.is(even.wallOf(10), 10 + 137_000);
});
