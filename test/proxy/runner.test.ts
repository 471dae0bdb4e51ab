import test from 'ava';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {BoundedRunner} from '#src/proxy/sync/bounded-runner.js';

/** A runner and the seconds at which it ran. */
const world = (periods = {minMs: 1000, retryMs: 5000, maxMs: 10_000}) => {
  const clock = new VirtualClock(0);
  const ran: number[] = [];
  const state = {fails: false};
  const runner = new BoundedRunner({
    run: () => {
      ran.push(clock.monotonic() / 1000);
      return state.fails ? Promise.reject(new Error('no')) : Promise.resolve();
    },
    periods,
    clock,
    log: noLog,
  });
  return {clock, ran, runner, state};
};

test('what is requested before the start runs at the start', async t => {
  const {clock, ran, runner} = world();
  runner.request();
  await clock.advance(100);
  t.deepEqual(ran, []);
  runner.start();
  await clock.advance(100);
  t.deepEqual(ran, [0.1]);
});

test('the first request runs at once, and those that follow too early run once, when they may', async t => {
  const {clock, ran, runner} = world();
  runner.start();
  await clock.advance(500);
  runner.request();
  await clock.advance(100);
  runner.request();
  runner.request();
  await clock.advance(5000);

  t.deepEqual(ran, [0.5, 1.5]);
});

test('without requests a run follows another when the longest period has passed', async t => {
  const {clock, ran, runner} = world();
  runner.start();
  await clock.advance(30_000);

  t.deepEqual(ran, [10, 20, 30]);
});

test('a run puts the next one off by the longest period', async t => {
  const {clock, ran, runner} = world();
  runner.start();
  await clock.advance(9000);
  runner.request();
  await clock.advance(11_000);

  t.deepEqual(ran, [9, 19]);
});

test('a run that failed is repeated until it succeeds', async t => {
  const {clock, ran, runner, state} = world();
  state.fails = true;
  runner.start();
  runner.request();
  await clock.advance(6000);
  state.fails = false;
  await clock.advance(10_000);

  t.deepEqual(ran, [0, 5, 10]);
});

test('a request comes before a retry', async t => {
  const {clock, ran, runner, state} = world();
  state.fails = true;
  runner.start();
  runner.request();
  await clock.advance(2000);
  state.fails = false;
  runner.request();
  await clock.advance(5000);

  t.deepEqual(ran, [0, 2]);
});

test('a retry does not come before the least period', async t => {
  const {clock, ran, runner, state} = world({minMs: 4000, retryMs: 1000, maxMs: 10_000});
  state.fails = true;
  runner.start();
  runner.request();
  await clock.advance(5000);

  t.deepEqual(ran, [0, 4]);
});

test('nothing runs after the end', async t => {
  const {clock, ran, runner} = world();
  runner.start();
  runner.request();
  await clock.advance(100);
  runner[Symbol.dispose]();
  runner.request();
  await clock.advance(30_000);

  t.deepEqual(ran, [0]);
});
