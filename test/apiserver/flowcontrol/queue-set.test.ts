import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {FlowControlMetrics} from '#src/apiserver/flowcontrol/metrics.js';
import {dealtHand, flowHash} from '#src/apiserver/flowcontrol/fair-queuing/dealer.js';
import {QueueSet, type Excess} from '#src/apiserver/flowcontrol/fair-queuing/queue-set.js';
import {FlowRequest, workOf, type Work} from '#src/apiserver/flowcontrol/fair-queuing/queue.js';
import {MetricsRegistry} from '#src/observe/metrics.js';

const info = {verb: 'get', path: '/', query: new URLSearchParams()};

/** The queues of one level on virtual time. */
const start = (excess: Excess, limit: number) => {
  const clock = new VirtualClock();
  const meter = new MetricsRegistry();
  const metrics = new FlowControlMetrics(meter, () => clock.monotonic());
  const set = new QueueSet(excess, metrics.level('level', clock.monotonic()), clock);
  set.configure(excess, limit, limit);
  const handOf = (name: string) => (typeof excess === 'string' ? [] : dealtHand(flowHash('schema', name), excess.queues, excess.handSize));
  /** Sends a request of a flow, in queues of its own unless a hand is given. */
  const send = (name: string, work: Work = workOf(1), hand = handOf(name)) => {
    const flow = {schema: 'schema', distinguisher: name, hand, meters: metrics.flow('level', 'schema')};
    const request = new FlowRequest(flow, {user: {name, groups: []}, info}, work, clock.monotonic());
    return {request, reason: set.start(request)};
  };
  /**
   * Keeps a number of requests of a flow in the set for a time: each is executed for `ms`, and the next is sent then.
   */
  const load = (name: string, {clients, ms, hand, work}: {clients: number; ms: number; hand?: readonly number[]; work?: Work}) => {
    const count = {executed: 0, seatMs: 0};
    const next = (): void => {
      const {request, reason} = send(name, work, hand);
      if (reason) return void clock.schedule(1, next);
      const execute = () =>
        void clock.schedule(ms, () => {
          count.executed++;
          count.seatMs += ms * request.work.initialSeats;
          set.finish(request);
          next();
        });
      if (request.state === 'executing') execute();
      else request.dispatched = execute;
    };
    for (let client = 0; client < clients; client++) next();
    return count;
  };
  return {clock, meter, set, send, load};
};

const queues = (count: number, handSize: number, queueLengthLimit = 50) => ({queues: count, handSize, queueLengthLimit});

test('a hand has as many different queues as its size, and the same ones for the same flow', t => {
  for (let flow = 0; flow < 300; flow++) {
    const hash = flowHash('schema', `flow-${flow}`);
    const hand = dealtHand(hash, 128, 6);
    t.is(new Set(hand).size, 6);
    t.true(hand.every(card => card >= 0 && card < 128));
    t.deepEqual(dealtHand(hash, 128, 6), hand);
  }
  t.deepEqual(dealtHand(0n, 4, 4), [0, 1, 2, 3]);
  t.not(flowHash('a', 'bc'), flowHash('ab', 'c'));
});

test('every queue is dealt about as often as the others', t => {
  const counts = Array.from({length: 16}, () => 0);
  for (let flow = 0; flow < 4000; flow++) for (const card of dealtHand(flowHash('schema', String(flow)), 16, 4)) counts[card]!++;

  for (const count of counts) t.true(count > 850 && count < 1150, String(count));
});

test('a flow with many requests does not slow one with few', async t => {
  const {clock, set, load} = start(queues(64, 6), 10);
  const greedy = load('greedy', {clients: 200, ms: 100});
  const modest = load('modest', {clients: 1, ms: 100});
  await clock.advance(10_000);

  t.true(modest.executed >= 70, `${modest.executed} of at most 100 without others`);
  t.is(set.executing, 10);
  t.true(greedy.executed + modest.executed >= 980, 'no seat is left free');
});

test('a request that overtakes a wide one leaves it waiting, with a seat free', async t => {
  const {set, send} = start(queues(3, 1), 5);
  const first = send('first', workOf(3), [2]).request;
  const wide = send('wide', workOf(3), [0]).request;
  const narrow = send('narrow', workOf(1), [1]);

  t.is(narrow.reason, undefined);
  t.deepEqual(
    [first, wide, narrow.request].map(({state}) => state),
    ['executing', 'waiting', 'executing'],
  );
  t.deepEqual([set.waiting, set.executing, set.seatsInUse], [1, 2, 4]);
  set.finish(first);
  t.is(wide.state, 'executing');
});

test('queues are served by seats and durations, not by the number of requests', async t => {
  const {clock, load} = start(queues(3, 1), 8);
  const long = load('long', {clients: 20, ms: 300, hand: [0]});
  const short = load('short', {clients: 20, ms: 50, hand: [1]});
  const wide = load('wide', {clients: 20, ms: 50, work: workOf(4), hand: [2]});
  await clock.advance(60_000);

  const total = long.seatMs + short.seatMs + wide.seatMs;
  for (const {seatMs} of [long, short, wide]) t.true(seatMs > total * 0.25 && seatMs < total * 0.42, `${seatMs} of ${total}`);
});

test('a queue that was idle does not catch up', async t => {
  const {clock, load} = start(queues(2, 1), 4);
  const always = load('always', {clients: 8, ms: 10, hand: [0]});
  await clock.advance(20_000);
  const before = always.executed;
  const late = load('late', {clients: 8, ms: 10, hand: [1]});
  await clock.advance(1000);

  t.true(Math.abs(always.executed - before - late.executed) <= 20, `${always.executed - before} and ${late.executed}`);
});

test('a flow whose queues are full is rejected, and others are not', t => {
  const {set, send} = start(queues(8, 2, 3), 1);
  const reasons = Array.from({length: 10}, () => send('greedy', workOf(1), [0, 1]).reason);
  t.deepEqual(reasons, [...Array.from({length: 7}, () => undefined), 'queue-full', 'queue-full', 'queue-full']);
  t.deepEqual(
    set.queues.map(({index, waiting}) => [index, waiting.length]),
    [
      [0, 3],
      [1, 3],
    ],
  );

  t.is(send('other', workOf(1), [1, 2]).reason, undefined);
  t.deepEqual([set.queues[2]!.index, set.queues[2]!.waiting.length], [2, 1], 'it uses the queue that the first flow was not dealt');
  t.deepEqual([set.waiting, set.executing, set.totals.rejected], [7, 1, 3]);
});

test('requests without queues are executed up to the limit, and rejected above it', t => {
  const {set, send} = start('reject', 3);
  const [first] = [send('a', workOf(2)).request, send('b').request];
  t.is(send('c').reason, 'concurrency-limit');
  set.finish(first);
  t.is(send('d', workOf(2)).reason, undefined);
  t.deepEqual([set.seatsInUse, set.executing], [3, 2]);
});

test('an exempt level has no limit', t => {
  const {set, send} = start('exempt', 0);
  const requests = Array.from({length: 50}, () => send('a', workOf(10)));
  t.true(requests.every(({reason, request}) => reason === undefined && request.state === 'executing'));
  t.is(set.seatsInUse, 500);
  for (const {request} of requests) set.finish(request);
  t.deepEqual([set.seatsInUse, set.isIdle], [0, true]);
});

test('a request that is wider than the limit is executed alone, and nothing overtakes it', t => {
  const {set, send, meter} = start(queues(1, 1), 4);
  const first = send('a').request;
  const wide = send('a', workOf(9)).request;
  const last = send('a').request;
  t.deepEqual([wide.state, last.state], ['waiting', 'waiting']);
  t.is(meter.value('apiserver_flowcontrol_request_dispatch_no_accommodation_total'), 2);
  set.finish(first);
  t.deepEqual([wide.state, last.state], ['executing', 'waiting']);
  set.finish(wide);
  t.is(last.state, 'executing');
});

test('seats of a write stay occupied while its events are sent', async t => {
  const {clock, set, send} = start(queues(1, 1), 5);
  const {request} = send('a', {initialSeats: 1, finalSeats: 10, additionalLatencyMs: 10});
  t.deepEqual([request.work.finalSeats, request.work.additionalLatencyMs], [5, 20], 'as many seat-seconds, within the limit');
  const next = send('a').request;
  set.finish(request);
  t.deepEqual([set.executing, set.seatsInUse, next.state], [0, 5, 'waiting']);
  await clock.advance(19);
  t.is(next.state, 'waiting');
  await clock.advance(1);
  t.deepEqual([next.state, set.seatsInUse], ['executing', 1]);
});

test('a request that is cancelled leaves its queue to those behind it', t => {
  const {set, send, meter} = start(queues(1, 1), 1);
  const [first, second, third] = [send('a').request, send('a').request, send('a').request];
  set.cancel(second);
  set.cancel(first);
  t.deepEqual([set.waiting, set.totals.cancelled, first.state], [1, 1, 'executing']);
  t.is(meter.value('apiserver_flowcontrol_rejected_requests_total', {reason: 'time-out'}), 1);
  set.finish(first);
  t.deepEqual([second.state, third.state], ['over', 'executing']);
  set.finish(third);
  t.deepEqual([set.isIdle, set.seatsInUse, set.seatsWaiting], [true, 0, 0]);
});

test('requests go on through changes of the number of queues, which follow as they become empty', t => {
  const {set, send} = start(queues(4, 1), 1);
  const all = [0, 1, 2, 3].map(queue => send('a', workOf(1), [queue]).request);
  set.configure(queues(2, 1), 1, 1);
  t.is(set.queues.length, 4);
  for (const request of all) set.finish(request);
  t.true(set.isIdle);
  t.is(set.queues.length, 2);
  set.configure(queues(6, 1), 1, 1);
  set.configure('reject', 1, 1);
  const one = send('a').request;
  t.is(send('a').reason, 'concurrency-limit');
  set.finish(one);
  t.true(set.isIdle);
});

test('a level may have very many queues: only those in use take up memory', t => {
  const {set, send} = start(queues(10_000_000, 2), 1);
  const requests = Array.from({length: 200}, (_, flow) => send(`flow-${flow}`).request);
  t.true(set.queues.length <= 200);
  for (const request of requests) set.cancel(request);
  set.finish(requests[0]!);
  t.deepEqual([set.queues.length, set.isIdle], [0, true]);
});

test('a higher limit is used at once', t => {
  const {set, send} = start(queues(2, 1), 1);
  const all = Array.from({length: 4}, () => send('a').request);
  set.configure(queues(2, 1), 3, 3);

  t.deepEqual(
    all.map(({state}) => state),
    ['executing', 'executing', 'executing', 'waiting'],
  );
});

test('virtual time is set back before it loses its fractions, and the order stays', async t => {
  const {clock, set, send, meter} = start(queues(2, 1), 1000);
  const wide = {initialSeats: 1000, finalSeats: 0, additionalLatencyMs: 0};
  const first = send('a', wide, [0]).request;
  const [second, third] = [send('a', workOf(1), [0]).request, send('b', workOf(1), [1]).request];
  await clock.advance(6_500_000_000);
  const fourth = send('b', workOf(1), [1]).request;

  t.is(meter.value('apiserver_flowcontrol_epoch_advance_total', {priority_level: 'level', success: 'true'}), 1);
  t.true(set.currentR() < 2 ** 31);
  set.configure(queues(2, 1), 1, 1);
  set.finish(first);
  const order: string[] = [];
  const names = new Map([
    [second, 'second'],
    [third, 'third'],
    [fourth, 'fourth'],
  ]);
  while (!set.isIdle) {
    const [request, name] = [...names].find(([{state}]) => state === 'executing')!;
    order.push(name);
    set.finish(request);
  }
  t.is(order.at(-1), 'second', 'its queue has had more than its share');
  t.is(set.seatsWaiting, 0);
});
