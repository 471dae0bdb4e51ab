import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {ClusterEvent, EventKind, QueueEvent} from '#src/scheduler/framework/events.js';
import type {PluginName} from '#src/scheduler/framework/plugin.js';
import {Nominator} from '#src/scheduler/queue/nominator.js';
import {SchedulingQueue} from '#src/scheduler/queue/queue.js';
import {PodWrites} from '#src/scheduler/pod-writes.js';
import {WorkingClock} from '#test/fixtures/working-clock.js';
import {aPod} from './objects.js';
import {toPodInfo} from './cluster-state.js';

/**
 * A queue in which added nodes help pods that `NodeResourcesFit` rejected, and deleted pods help pods of all the given
 * plugins.
 */
const aQueue = ({
  popsFromBackoff: popFromBackoff = false,
  helps = () => true,
  clock = new VirtualClock(0),
}: {popsFromBackoff?: boolean; helps?: (event: ClusterEvent) => boolean; clock?: VirtualClock} = {}) => {
  const gated = new Set<string>();
  const came: string[] = [];
  const byEvent: Partial<Record<EventKind, PluginName[]>> = {
    NodeAdd: ['NodeResourcesFit'],
    AssignedPodDelete: ['NodeResourcesFit', 'NodePorts'],
    UnschedulablePodUpdatePodSchedulingGatesEliminated: ['SchedulingGates'],
  };
  const queue = new SchedulingQueue({
    clock,
    initialMs: 1_000,
    maxMs: 10_000,
    unschedulableTimeoutMs: 300_000,
    popFromBackoff,
    gateOf: ({uid}) => (gated.has(uid) ? 'SchedulingGates' : undefined),
    hintsOn: event => (byEvent[event] ?? []).map(plugin => ({plugin, helps: (_, happened: ClusterEvent) => helps(happened)})),
    onReady: () => {},
    onIncoming: (place, event: QueueEvent) => void came.push(`${place} ${event}`),
    onRejection: () => {},
    onError(error) {
      throw error;
    },
  });
  const add = (name: string, priority = 0) => {
    const info = {...toPodInfo(aPod(name)), uid: name, priority};
    queue.add(info);
    return info;
  };
  const fail = (...plugins: PluginName[]) => {
    const pod = queue.pop()!;
    queue.addUnschedulable(pod, new Set(plugins));
    queue.done(pod);
    return pod;
  };
  return {clock, queue, gated, came, add, fail, popped: () => queue.pop()?.info.uid};
};

test('pods are popped by priority, then by arrival', t => {
  const {queue, add, popped} = aQueue();
  for (const [name, priority] of [
    ['a', 0],
    ['b', 5],
    ['c', 0],
    ['d', 5],
  ] as const)
    add(name, priority);
  queue.delete('d');

  t.deepEqual([popped(), popped(), popped(), popped()], ['b', 'a', 'c', undefined]);
});

test('an event during the scheduling of a pod moves it too', t => {
  const {queue, add} = aQueue();
  add('a');
  const pod = queue.pop()!;

  queue.moveOn({kind: 'NodeAdd'});
  queue.addUnschedulable(pod, new Set<PluginName>(['NodeResourcesFit']));

  t.deepEqual({...queue.sizes}, {active: 0, backoff: 1, unschedulable: 0, gated: 0});
});

test('an event after the scheduling of a pod, or one that helps others alone, does not move it', t => {
  const {queue, add} = aQueue();
  add('a');
  add('b');
  const [a, b] = [queue.pop()!, queue.pop()!];
  queue.moveOn({kind: 'NodeAdd'});
  queue.addUnschedulable(b, new Set<PluginName>(['NodePorts']));
  queue.done(a);
  queue.done(b);
  queue.moveOn({kind: 'NodeAdd'});
  queue.addUnschedulable(a, new Set<PluginName>(['NodeResourcesFit']));

  t.is(queue.sizes.unschedulable, 2);
});

test('an unschedulable pod waits until an event that may help the plugins which rejected it', t => {
  const {queue, clock, add, fail, popped, came} = aQueue();
  add('a');
  fail('NodePorts');

  queue.moveOn({kind: 'NodeAdd'});
  t.is(queue.sizes.unschedulable, 1);
  queue.moveOn({kind: 'AssignedPodDelete'});
  t.deepEqual({...queue.sizes}, {active: 0, backoff: 1, unschedulable: 0, gated: 0});
  t.is(popped(), undefined);

  return clock.advance(1_000).then(() => {
    t.is(popped(), 'a');
    t.deepEqual(came, [
      'active UnschedulablePodAdd',
      'unschedulable ScheduleAttemptFailure',
      'backoff AssignedPodDelete',
      'active BackoffComplete',
    ]);
  });
});

test('an event that cannot help this pod leaves it where it is', t => {
  const {queue, add, fail} = aQueue({helps: () => false});
  add('a');
  fail('NodeResourcesFit');

  queue.moveOn({kind: 'NodeAdd'});

  t.is(queue.sizes.unschedulable, 1);
});

test('the wait between attempts doubles from one second to ten', async t => {
  const {queue, clock, add, fail, popped} = aQueue();
  add('a');
  for (const waitMs of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
    fail('NodeResourcesFit');
    queue.moveOn({kind: 'NodeAdd'});
    await clock.advance(waitMs - 1);
    t.is(popped(), undefined, `${waitMs} ms`);
    await clock.advance(1);
    t.is(queue.sizes.active, 1, `${waitMs} ms`);
  }
});

test('a pod whose backoff ended without an event is tried at once', async t => {
  const {queue, clock, add, fail, popped} = aQueue();
  add('a');
  fail('NodeResourcesFit');
  await clock.advance(5_000);

  queue.moveOn({kind: 'NodeAdd'});

  t.is(popped(), 'a');
});

test('a pod that waits out its backoff is tried early when nothing else is due, but not after a fault', t => {
  const {queue, add, fail, popped} = aQueue({popsFromBackoff: true});
  add('a');
  fail('NodeResourcesFit');
  queue.moveOn({kind: 'NodeAdd'});
  t.is(popped(), 'a');

  queue.delete('a');
  add('b');
  fail();
  t.is(queue.sizes.backoff, 1);
  t.is(popped(), undefined);
});

test('a pod that nothing helps is tried again after five minutes', async t => {
  const {clock, add, fail, popped, came} = aQueue();
  add('a');
  fail('NodeResourcesFit');

  await clock.advance(299_999);
  t.is(popped(), undefined);
  await clock.advance(1);
  t.is(popped(), 'a');
  t.is(came.at(-1), 'active UnschedulableTimeout');
});

test('a gated pod is not tried, whatever happens, until its gates are gone', async t => {
  const {queue, clock, gated, add, popped} = aQueue();
  gated.add('a');
  const info = add('a');
  t.is(queue.sizes.gated, 1);
  queue.moveOn({kind: 'NodeAdd'});
  await clock.advance(600_000);
  t.is(popped(), undefined);

  gated.delete('a');
  queue.update(info, {}, ['UnschedulablePodUpdatePodSchedulingGatesEliminated']);

  t.is(popped(), 'a');
  t.is(queue.sizes.gated, 0);
});

test('a pod that is gated after it was rejected is moved by the events of the plugins which rejected it', t => {
  const {queue, gated, add, fail, popped} = aQueue({popsFromBackoff: true});
  add('a');
  fail('NodeResourcesFit');
  gated.add('a');
  queue.moveOn({kind: 'NodeAdd'});
  t.deepEqual([queue.sizes.gated, queue.sizes.unschedulable], [1, 0]);
  gated.delete('a');

  queue.moveOn({kind: 'NodeAdd'});

  t.is(popped(), 'a');
});

test('a pod that is deleted during its attempt is not queued again', t => {
  const {queue, add} = aQueue();
  add('a');
  const pod = queue.pop()!;
  queue.delete('a');
  queue.addUnschedulable(pod, new Set(['NodeResourcesFit']));

  t.deepEqual({...queue.sizes}, {active: 0, backoff: 0, unschedulable: 0, gated: 0});
});

test('a closed queue leaves no timer', t => {
  const {queue, clock, add, fail} = aQueue();
  add('a');
  fail('NodeResourcesFit');
  t.is(clock.pending, 1);
  queue.close();

  t.is(clock.pending, 0);
});

test('a nomination stands until it is observed and then removed, or replaced', t => {
  const nominated = new Nominator();
  const info = toPodInfo(aPod('a'));
  const on = (node: string) => [...(nominated.podsFor(node) ?? [])].length;
  nominated.set(info, 'n1');
  nominated.update(info, '', '');
  t.is(on('n1'), 1);
  nominated.update(info, '', 'n2');
  t.deepEqual([on('n1'), on('n2')], [0, 1]);
  nominated.update(info, 'n2', '');

  t.is(on('n2'), 0);
});

test('of the status updates of a pod the last is sent, one at a time, and none after the final one', async t => {
  const writes = new PodWrites();
  const sent: string[] = [];
  const open: (() => void)[] = [];
  const write = (name: string) => () => new Promise<void>(resolve => open.push(() => (sent.push(name), resolve())));
  for (const name of ['first', 'second', 'third']) writes.enqueue('a', write(name));
  t.is(open.length, 1);
  open.shift()!();
  await new Promise(resolve => setImmediate(resolve));
  t.is(open.length, 1);

  writes.enqueue('a', write('late'));
  const concluded = writes.runLast('a', write('bound'));
  open.shift()!();
  await new Promise(resolve => setImmediate(resolve));
  open.shift()!();
  await concluded;

  t.deepEqual(sent, ['first', 'third', 'bound']);
});

test('events are kept for a pod that waits while others are scheduled', t => {
  const {queue, add, fail} = aQueue();
  for (const name of ['waits', 'b', 'c']) add(name);
  const waits = queue.pop()!;
  fail('NodePorts');
  queue.moveOn({kind: 'NodeAdd'});
  fail('NodePorts');

  queue.addUnschedulable(waits, new Set<PluginName>(['NodeResourcesFit']));

  t.is(waits.subQueue, 'backoff');
  t.is(queue.sizes.unschedulable, 2);
});

test('an event moves many pods in pieces, before later events, and none that was tried after it', async t => {
  const clock = new WorkingClock(0);
  const count = 100;
  const helped: string[] = [];
  const {queue, add, fail} = aQueue({
    clock,
    helps({kind}) {
      clock.work(1);
      helped.push(kind);
      return kind === 'AssignedPodDelete';
    },
  });
  for (let at = 0; at < count; at++) add(`p${at}`);
  for (let at = 0; at < count; at++) fail('NodeResourcesFit');

  queue.moveOn({kind: 'NodeAdd'});
  queue.moveOn({kind: 'AssignedPodDelete'});
  queue.delete('p99');
  add('late');
  fail('NodeResourcesFit');
  t.is(queue.sizes.unschedulable, count);
  await clock.drain();

  t.is(queue.sizes.unschedulable, 1);
  t.is(queue.get('late')?.subQueue, 'unschedulable');
  t.deepEqual(helped, [...Array<string>(count - 1).fill('NodeAdd'), ...Array<string>(count - 1).fill('AssignedPodDelete')]);
  t.true(clock.longestMs <= 10, `${clock.longestMs} ms in one turn`);
});
