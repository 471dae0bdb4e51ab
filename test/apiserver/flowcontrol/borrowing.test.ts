import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {allocate} from '#src/apiserver/flowcontrol/allocation.js';
import {Integrator} from '#src/apiserver/flowcontrol/fair-queuing/over-time.js';
import {RetryAfter} from '#src/apiserver/flowcontrol/retry-after.js';
import {settled} from '#test/apiserver/wire.js';
import {aLevel, aSchema, aUser, queuing, startFair} from './environment.js';

const rounded = (numbers: readonly number[]) => numbers.map(number => Math.round(number * 1000) / 1000);

test('seats are divided in proportion to the targets, within the bounds', t => {
  for (const [sum, claims, seats, fairFraction] of [
    [
      10,
      [
        [1, 0, 10],
        [4, 0, 10],
      ],
      [2, 8],
      2,
    ],
    [
      10,
      [
        [1, 0, 10],
        [4, 0, 5],
      ],
      [5, 5],
      5,
    ],
    [
      10,
      [
        [4, 3, 10],
        [40, 0, 100],
      ],
      [3, 7],
      0.175,
    ],
    [
      10,
      [
        [0, 0, 10],
        [5, 5, 8],
        [1, 0, 100],
      ],
      [0.002, 8, 1.998],
      1.998,
    ],
    [
      5,
      [
        [3, 3, 9],
        [2, 2, 9],
      ],
      [3, 2],
      1,
    ],
    [
      18,
      [
        [3, 3, 9],
        [2, 2, 9],
      ],
      [9, 9],
      4.5,
    ],
    [0, [[0, 0, 5]], [0], 0],
  ] as const) {
    const result = allocate(
      sum,
      claims.map(([target, lower, upper]) => ({target, lower, upper})),
    );
    t.deepEqual(rounded(result!.seats), [...seats], JSON.stringify(claims));
    t.deepEqual(rounded([result!.fairFraction]), [fairFraction], JSON.stringify(claims));
  }
  t.is(allocate(3, [{target: 4, lower: 4, upper: 5}]), undefined);
  t.is(allocate(6, [{target: 4, lower: 4, upper: 5}]), undefined);
});

test('the average and deviation of a variable are weighted by time', t => {
  const integrator = new Integrator(0);
  integrator.set(4, 1000);
  integrator.set(10, 1500);
  integrator.set(0, 1500);
  const {seconds, average, deviation, highest} = integrator.reset(2000);
  t.deepEqual(rounded([seconds, average, deviation, highest]), [2, 1, 1.732, 10]);
  integrator.set(3, 2000);
  t.deepEqual(integrator.reset(4000), {seconds: 2, average: 3, deviation: 0, highest: 3});
});

test('clients are asked to wait longer while many requests are rejected, up to 32 seconds, and less when few are', t => {
  const retry = new RetryAfter();
  const asked: number[] = [];
  const reject = (second: number, times: number) => {
    for (let time = 0; time < times; time++) retry.rejected(second * 1000);
    asked.push(retry.seconds);
  };
  for (let second = 1; second <= 40; second++) reject(second, 20);
  t.deepEqual([...new Set(asked)], [1, 2, 4, 8, 16, 32]);
  for (let second = 200; second <= 300; second++) reject(second, second % 50 === 0 ? 1 : 0);
  t.true(retry.seconds < 32);
});

const busy = aUser('busy', 'busy');
const levels = [
  aLevel('busy', {nominalConcurrencyShares: 25, lendablePercent: 0, limitResponse: queuing(4, 1, 100)}),
  aLevel('idle', {nominalConcurrencyShares: 20, lendablePercent: 50, limitResponse: queuing(4, 1, 100)}),
];
const schemas = [aSchema('busy', 'busy', 100, {group: 'busy'}), aSchema('idle', 'idle', 200, {group: 'idle'})];

test('a level without demand lends seats to one that could use more, and gets them back when it needs them', async t => {
  const {get, slow, clock, level, meter, stop} = await startFair(50, {clock: new VirtualClock(), levels, schemas});
  const limits = () => ['busy', 'idle', 'catch-all'].map(name => level(name).meters.limits.current);
  t.deepEqual(
    ['busy', 'idle', 'catch-all'].map(name => {
      const {nominal, lower, upper} = level(name).meters.limits;
      return [nominal, lower, upper];
    }),
    [
      [25, 25, 75],
      [20, 10, 70],
      [5, 5, 55],
    ],
  );

  const all = Array.from({length: 60}, () => get('/slow/any?timeout=60s', {user: busy}));
  await settled(clock);
  await clock.advance(10_000);
  t.deepEqual(limits(), [35, 10, 5], 'idle keeps what it need not lend');
  t.is(level('busy').queues.executing, 35);
  t.is(meter.value('apiserver_flowcontrol_current_limit_seats', {priority_level: 'busy'}), 35);
  t.true(meter.value('apiserver_flowcontrol_demand_seats_high_watermark', {priority_level: 'busy'})! >= 60);
  t.is(meter.value('apiserver_flowcontrol_lower_limit_seats', {priority_level: 'idle'}), 10);

  const idle = aUser('idle', 'idle');
  const others = Array.from({length: 20}, () => get('/slow/other?timeout=60s', {user: idle}));
  await settled(clock);
  t.is(level('idle').queues.executing, 10);
  slow.release(100);
  await settled(clock);
  slow.release(100);
  await settled(clock);
  const more = Array.from({length: 20}, () => get('/slow/other?timeout=60s', {user: idle}));
  await clock.advance(10_000);
  t.is(level('idle').meters.limits.current >= 20, true);
  slow.release(100);
  await settled(clock);
  slow.release(100);
  await Promise.all([...all, ...others, ...more]);
  stop();
});

test('seats that exempt requests use are taken from what the others lend', async t => {
  const {get, slow, clock, level, stop} = await startFair(50, {clock: new VirtualClock(), levels, schemas});
  const masters = aUser('root', 'system:masters');
  const all = Array.from({length: 30}, () => get('/slow/any', {user: masters}));
  await clock.advance(10_000);

  t.is(level('exempt').meters.limits.current, 30);
  t.deepEqual([level('busy').meters.limits.current, level('idle').meters.limits.current], [25, 10]);
  slow.release(30);
  await Promise.all(all);
  stop();
});
