import {setImmediate as nextTurn} from 'node:timers/promises';
import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {maxOf, tokenBucketLimiter, perItemBackoff, defaultLimiter} from '#src/queue/rate-limiter.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import {work} from '#src/queue/workers.js';
import {WorkingClock} from '#test/fixtures/working-clock.js';

const aQueue = () => {
  const clock = new VirtualClock();
  const meter = new MetricsRegistry();
  const queue = new WorkQueue<string>({clock, meter, name: 'test'});
  const takeAll = () => {
    const taken: string[] = [];
    for (let item = queue.take(); item !== undefined; item = queue.take()) {
      taken.push(item);
      queue.done(item);
    }
    return taken;
  };
  return {clock, meter, queue, takeAll};
};

test('returns keys in the order of addition, and each once however often it was added', t => {
  const {queue, takeAll} = aQueue();

  for (const item of ['a', 'b', 'a', 'c', 'b']) queue.add(item);

  t.deepEqual(takeAll(), ['a', 'b', 'c']);
});

test('a worker is not told of more ready items at once than it may process', t => {
  const {queue} = aQueue();
  for (const item of ['a', 'b', 'c']) queue.add(item);
  let calls = 0;
  queue.onReady(2, () => void calls++);
  t.is(calls, 2);

  queue.add('d');
  t.is(calls, 3);
});

test('a wait of fractions of milliseconds ends', async t => {
  const {clock, queue, takeAll} = aQueue();
  queue.addAfter('a', 30_408.935);
  await clock.advance(30_409);

  t.deepEqual(takeAll(), ['a']);
});

test('an item added while it is processed is processed again afterwards, once', t => {
  const {queue, takeAll} = aQueue();
  queue.add('a');
  queue.take();

  queue.add('a');
  queue.add('a');
  t.is(queue.take(), undefined);
  queue.done('a');

  t.deepEqual(takeAll(), ['a']);
});

test('keeps its order over many thousands of items', t => {
  const {queue, takeAll} = aQueue();
  const items = Array.from({length: 5000}, (_, index) => `item-${index}`);

  for (const item of items) queue.add(item);

  t.deepEqual(takeAll(), items);
});

test('a delayed item is added at its time, at the earlier of two', async t => {
  const {clock, queue, takeAll} = aQueue();
  queue.addAfter('a', 5000);
  queue.addAfter('a', 1000);
  queue.addAfter('a', 3000);
  queue.addAfter('b', 2000);
  queue.addAfter('c', 0);
  t.deepEqual(takeAll(), ['c']);

  await clock.advance(999);
  t.deepEqual(takeAll(), []);
  await clock.advance(1);
  t.deepEqual(takeAll(), ['a']);
  await clock.advance(10_000);

  t.deepEqual(takeAll(), ['b']);
  t.is(clock.pending, 0);
});

test('an infinite delay is clamped, and an earlier one still counts', async t => {
  const {clock, queue, takeAll} = aQueue();

  queue.addAfter('a', Infinity);
  queue.addAfter('a', 1000);
  await clock.advance(1000);

  t.deepEqual(takeAll(), ['a']);
});

test('a failing item waits longer each time, up to the cap, until it is forgotten', t => {
  const limiter = perItemBackoff<string>(5, 1_000_000);
  const waits = Array.from({length: 20}, () => limiter.delay('a'));

  t.deepEqual(waits.slice(0, 5), [5, 10, 20, 40, 80]);
  t.is(waits[17], 655_360);
  t.is(waits[18], 1_000_000);
  t.is(limiter.retries('a'), 20);
  t.is(limiter.delay('b'), 5);
  limiter.forget('a');
  t.is(limiter.delay('a'), 5);
});

test('all items share a bucket of ten a second with a burst of a hundred', async t => {
  const clock = new VirtualClock();
  const limiter = tokenBucketLimiter<number>(clock, 10, 100);
  const waits = Array.from({length: 103}, (_, item) => limiter.delay(item));

  t.deepEqual(waits.slice(98).map(Math.round), [0, 0, 100, 200, 300]);
  await clock.advance(1300);
  t.is(limiter.delay(0), 0);
});

test('the longer of two delays counts', t => {
  const clock = new VirtualClock();
  const limiter = maxOf(perItemBackoff<number>(5, 1000), tokenBucketLimiter<number>(clock, 10, 1));

  t.deepEqual([limiter.delay(0), limiter.delay(1), limiter.delay(0)].map(Math.round), [5, 100, 200]);
  t.is(limiter.retries(0), 2);
});

test('adding rate-limited counts and delays, forgetting starts over', async t => {
  const {clock, queue, takeAll} = aQueue();
  queue.addRateLimited('a');
  t.is(queue.retries('a'), 1);
  t.deepEqual(takeAll(), []);
  await clock.advance(5);
  t.deepEqual(takeAll(), ['a']);

  queue.forget('a');

  t.is(queue.retries('a'), 0);
});

test('after shutdown, no key is added, delayed ones are dropped, and ready ones are still returned', async t => {
  const {clock, queue, takeAll} = aQueue();
  queue.add('ready');
  queue.addAfter('waiting', 1000);

  queue.shutDown();
  queue.add('late');
  queue.addAfter('later', 1);
  queue.addRateLimited('latest');
  await clock.advance(5000);

  t.deepEqual(takeAll(), ['ready']);
  t.is(clock.pending, 0);
});

test('exports depth, adds, retries, waits and work durations under the usual names', async t => {
  const {clock, meter, queue} = aQueue();
  const value = (name: string) => meter.value(`workqueue_${name}`, {name: 'test'});
  t.deepEqual([value('adds_total'), value('retries_total'), value('depth')], [0, 0, 0]);
  queue.add('a');
  queue.add('b');
  queue.addRateLimited('c');
  t.deepEqual([value('adds_total'), value('retries_total'), value('depth')], [2, 1, 2]);
  await clock.advance(1);

  queue.take();
  queue.take();
  for (let each = 0; each < 2; each++) queue.pauseHold();
  await clock.advance(2000);
  t.deepEqual([value('unfinished_work_seconds'), value('longest_running_processor_seconds')], [4, 2]);
  queue.done('a');

  t.is(value('unfinished_work_seconds'), 2);
  t.is(value('queue_duration_seconds'), 2);
  t.is(value('work_duration_seconds'), 1);
  const {body} = await meter.exposition();
  t.regex(body, /workqueue_queue_duration_seconds_bucket\{le="1e-08",name="test"\} 0/);
  t.regex(body, /workqueue_work_duration_seconds_bucket\{le="1000",name="test"\} 1/);
});

test('never are two workers on one item, never more than allowed at work, and nothing is lost', async t => {
  const {clock, queue} = aQueue();
  const atWork = new Set<string>();
  const done = new Map<string, number>();
  let most = 0;
  const workers = work(
    queue,
    3,
    async item => {
      t.false(atWork.has(item));
      atWork.add(item);
      most = Math.max(most, atWork.size);
      await new Promise(resolve => setImmediate(resolve));
      atWork.delete(item);
      done.set(item, (done.get(item) ?? 0) + 1);
    },
    error => t.fail(String(error)),
  );

  for (let round = 0; round < 50; round++) {
    for (const item of ['a', 'b', 'c', 'd', 'e']) queue.add(item);
    await new Promise(resolve => setImmediate(resolve));
  }
  await clock.drain();

  t.is(most, 3);
  t.is(queue.size, 0);
  t.true([...done.values()].every(times => times > 5));
  await workers.stop();
});

test('virtual time waits for keys that are ready or being processed, but not for delayed ones', async t => {
  const {clock, queue} = aQueue();
  const log: string[] = [];
  const workers = work(
    queue,
    1,
    async item => {
      for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
      log.push(`${item} at ${clock.monotonic()}`);
      using _ = queue.pauseHold();
      await new Promise<void>(resolve => clock.schedule(50, resolve));
      log.push(`${item} rested at ${clock.monotonic()}`);
    },
    error => t.fail(String(error)),
  );
  queue.addAfter('a', 100);
  queue.addAfter('b', 101);

  await clock.advance(1000);

  t.deepEqual(log, ['a at 100', 'a rested at 150', 'b at 150', 'b rested at 200']);
  await workers.stop();
});

test('a queue without workers does not hold the clock', async t => {
  const {clock, queue} = aQueue();
  queue.add('a');

  await clock.advance(1000);

  t.is(clock.monotonic(), 1000);
});

test('a stop finishes keys in progress and takes no more', async t => {
  const {clock, queue} = aQueue();
  const finished: string[] = [];
  let release = () => {};
  const workers = work(
    queue,
    1,
    async item => {
      await new Promise<void>(resolve => (release = resolve));
      finished.push(item);
    },
    error => t.fail(String(error)),
  );
  queue.add('a');
  queue.add('b');
  await new Promise(resolve => setImmediate(resolve));

  const stopped = workers.stop();
  release();
  await stopped;
  await clock.drain();

  t.deepEqual(finished, ['a']);
});

test('a drain finishes everything that was ready', async t => {
  const {queue} = aQueue();
  const finished: string[] = [];
  const workers = work(
    queue,
    2,
    async item => void finished.push(item),
    error => t.fail(String(error)),
  );
  for (const item of ['a', 'b', 'c']) queue.add(item);

  await workers.drain();
  queue.add('d');

  t.deepEqual(finished, ['a', 'b', 'c']);
});

test('an item that becomes ready at any moment while the last worker ends is processed', async t => {
  const {queue} = aQueue();
  const processed: string[] = [];
  const workers = work(
    queue,
    1,
    async item => void processed.push(item),
    error => t.fail(String(error)),
  );
  for (let ticks = 0; ticks < 20; ticks++) {
    queue.add('first');
    for (let tick = 0; tick < ticks; tick++) await undefined;
    queue.add('second');
    await nextTurn();
    t.deepEqual(processed.splice(0), ['first', 'second'], `${ticks} ticks later`);
  }
  await workers.stop();
});

test('work that never waits yields to other work', async t => {
  const {queue} = aQueue();
  for (let item = 0; item < 1000; item++) queue.add(`item-${item}`);
  let done = 0;
  let turns = 0;
  setImmediate(function count() {
    if (done === 1000) return;
    turns++;
    setImmediate(count);
  });

  const workers = work(
    queue,
    4,
    async () => void done++,
    error => t.fail(String(error)),
  );
  await workers.drain();

  t.is(done, 1000);
  t.true(turns >= 5, `${turns} turns`);
});

test('long work yields to other tasks after 10 ms, however many workers there are', async t => {
  const clock = new WorkingClock();
  const queue = new WorkQueue<string>({clock, name: 'test'});
  for (let item = 0; item < 100; item++) queue.add(`item-${item}`);
  let done = 0;

  const workers = work(
    queue,
    5,
    async () => {
      clock.work(4);
      done++;
    },
    error => t.fail(String(error)),
  );
  await workers.drain();

  t.is(done, 100);
  t.true(clock.longestMs <= 12, `${clock.longestMs} ms in one turn`);
});

test('a worker that throws is reported and continues', async t => {
  const {clock, queue} = aQueue();
  const bugs: string[] = [];
  const workers = work(
    queue,
    1,
    () => Promise.reject(new Error('bug')),
    (_, item) => bugs.push(item),
  );

  queue.add('a');
  await clock.drain();
  queue.add('a');
  await clock.drain();

  t.deepEqual(bugs, ['a', 'a']);
  await workers.stop();
});

test('the standard limiter begins at 5 ms and can be configured to begin elsewhere', t => {
  const clock = new VirtualClock();

  t.is(defaultLimiter(clock).delay('a'), 5);
  t.is(defaultLimiter(clock, {baseDelayMs: 200}).delay('a'), 200);
});
