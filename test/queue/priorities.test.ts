import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {WorkQueue} from '#src/queue/work-queue.js';

const aQueue = () => {
  const clock = new VirtualClock();
  const queue = new WorkQueue<string>({clock, name: 'test'});
  const takeAll = () => {
    const taken: string[] = [];
    for (let item = queue.take(); item !== undefined; item = queue.take()) {
      taken.push(item);
      queue.done(item);
    }
    return taken;
  };
  return {clock, queue, takeAll};
};

test('items of low priority are taken last, and one that is added with normal priority too has that one', t => {
  const {queue, takeAll} = aQueue();
  for (const item of ['l1', 'l2', 'l3']) queue.add(item, 'low');
  queue.add('n1');
  queue.add('l3');
  queue.add('n1', 'low');

  t.is(queue.size, 4);
  t.deepEqual(takeAll(), ['n1', 'l3', 'l1', 'l2']);
  t.is(queue.size, 0);
});

test('items that are added together are each queued as if they were added alone', async t => {
  const {queue, takeAll} = aQueue();
  queue.add('working');
  t.is(queue.take(), 'working');
  queue.add('raised', 'low');
  queue.add('known');
  let calls = 0;
  queue.onReady(5, () => void calls++);
  calls = 0;

  queue.addAll(['a', 'working', 'b', 'a', 'known'], 'low');
  queue.addAll(['raised', 'c']);

  t.is(calls, 3);
  t.is(queue.size, 5);
  queue.done('working');
  t.deepEqual(takeAll(), ['known', 'raised', 'c', 'a', 'b', 'working']);
  queue.shutDown();
  queue.addAll(['late']);
  t.is(queue.size, 0);
});

test('an item in process that was added with low priority and is added again has normal priority', t => {
  const {queue, takeAll} = aQueue();
  for (const item of ['a', 'b']) queue.add(item, 'low');
  queue.take();
  queue.add('a', 'low');
  queue.add('a');
  queue.done('a');

  t.deepEqual(takeAll(), ['a', 'b']);
});

test('a retry keeps the priority of its item, unless the item changed meanwhile', async t => {
  const {clock, queue, takeAll} = aQueue();
  for (const item of ['a', 'b']) queue.add(item, 'low');
  for (const item of ['a', 'b']) {
    queue.take();
    queue.addRateLimited(item);
    queue.done(item);
  }
  queue.addAfter('b', 5);
  await clock.advance(10);
  queue.add('c');

  t.deepEqual(takeAll(), ['b', 'c', 'a']);
});

test('raised items do not pile up behind those of low priority', t => {
  const {queue} = aQueue();
  queue.add('low', 'low');
  for (let times = 0; times < 10_000; times++) {
    queue.add('a', 'low');
    queue.add('a');
    if (queue.take() !== 'a') t.fail('another one is first');
    queue.done('a');
  }
  t.is(queue.take(), 'low');
  t.is(queue.take(), undefined);
});

test('producers wait for room until enough was taken, or the queue is shut down', async t => {
  const {queue} = aQueue();
  t.is(queue.room(2), undefined);
  for (const item of ['a', 'b', 'c']) queue.add(item);
  let has = 0;
  void queue.room(2)?.then(() => has++);
  void queue.room(1)?.then(() => has++);
  queue.take();
  await Promise.resolve();
  t.is(has, 0);
  queue.take();
  await Promise.resolve();
  t.is(has, 1);
  queue.shutDown();
  await Promise.resolve();
  t.is(has, 2);
});
