import test from 'ava';
import {Backoff} from '#informers/backoff.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';

const second = 1000;
const minute = 60 * second;

test('the backoff begins again after two quiet minutes', async t => {
  const clock = new VirtualClock();
  const backoff = new Backoff(clock, {...seededRandom(1), float: () => 0});
  const next = () => backoff.next({isBroken: false});

  const waits = [next(), next(), next()];
  await clock.advance(2 * minute + 1);
  waits.push(next());

  t.deepEqual(waits, [800, 1600, 3200, 800]);
});

test('a connection that breaks after progress is made anew at once, but not again and again', async t => {
  const clock = new VirtualClock();
  const backoff = new Backoff(clock, {...seededRandom(1), float: () => 0});
  const broken = () => backoff.next({isBroken: true});
  const afterProgress = () => {
    backoff.progressed();
    return broken();
  };

  const waits = [broken(), afterProgress(), broken(), broken(), broken(), afterProgress()];
  await clock.advance(10 * second);
  waits.push(afterProgress());
  await clock.advance(10 * second);
  backoff.progressed();
  waits.push(backoff.next({isBroken: false}));

  t.deepEqual(waits, [800, 100, 800, 1600, 2000, 800, 100, 800]);
});
