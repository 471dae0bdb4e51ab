import test from 'ava';
import {trackingExpectations} from '#controllers/shared/children/expectations.js';
import {createExpected, deleteExpected} from '#controllers/shared/pods/expected-changes.js';
import type {PlannedPod} from '#controllers/shared/pods/pod-names.js';
import {podControl, podNamePrefix} from '#controllers/shared/pods/pod-control.js';
import {ownWrites} from '#controllers/shared/own-writes.js';
import {slowStart} from '#controllers/shared/pods/slow-start.js';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound, notFound} from '#src/api/status.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Plane} from '#src/plane/plane.js';
import {writerOf} from '#src/runtime/writer.js';
import {aPod, container, environmentOf, namespace, ownersOf, quiet} from './children.js';

test('expectations are met once everything was seen, and count for five minutes at most', async t => {
  const clock = new VirtualClock();
  const expected = trackingExpectations(clock);
  t.true(expected.satisfied('a'));
  expected.expectBoth('a', ['x/1', 'x/2'], ['x/3']);
  expected.created('a', 'x/1');
  expected.deleted('a', 'x/3');
  t.false(expected.satisfied('a'));
  t.true(expected.satisfied('b'));
  expected.created('a', 'x/2');
  t.true(expected.satisfied('a'));

  expected.expectCreations('a', ['x/1']);
  await clock.advance(300_000);
  t.false(expected.satisfied('a'));
  await clock.advance(1);
  t.true(expected.satisfied('a'));

  expected.expectDeletions('a', ['x/1']);
  expected.forget('a');
  t.true(expected.satisfied('a'));
});

test('a creation or deletion that is seen twice counts once, and others do not count', t => {
  const expected = trackingExpectations(new VirtualClock());
  expected.expectDeletions('a', ['x/1', 'x/2']);
  expected.deleted('a', 'x/1');
  expected.deleted('a', 'x/1');
  expected.deleted('a', 'x/3');
  t.false(expected.satisfied('a'));
  expected.deleted('a', 'x/2');
  t.true(expected.satisfied('a'));

  expected.expectCreations('a', ['x/1', 'x/2']);
  for (const child of ['x/1', 'x/1', 'x/3']) expected.created('a', child);
  t.false(expected.satisfied('a'));
  expected.forget('a');
  t.true(expected.satisfied('a'));
});

for (const [title, count, failing, mostAtOnce, batches, successes] of [
  ['grows twofold', 10, [], undefined, [1, 2, 4, 3], 10],
  ['stays under its limit', 10, [], 3, [1, 2, 3, 3, 1], 10],
  ['ends after the batch of a failure', 10, [3], undefined, [1, 2, 4], 6],
  ['ends at once where the first fails', 10, [0], undefined, [1], 0],
  ['does nothing for nothing', 0, [], undefined, [], 0],
] as const) {
  test(`a slow start ${title}`, async t => {
    const sizes: number[] = [];
    let together = 0;
    const call = async (index: number) => {
      together++;
      await Promise.resolve();
      if (together > 0) sizes.push(together);
      together = 0;
      if ((failing as readonly number[]).includes(index)) throw new Error(`no ${index}`);
    };
    const started = await slowStart(count, call, mostAtOnce === undefined ? {} : {mostAtOnce});

    t.deepEqual(sizes, [...batches]);
    t.is(started.successes, successes);
    t.is((started.error as Error | undefined)?.message, failing.length > 0 ? `no ${failing[0]}` : undefined);
  });
}

const eventSink = () => {
  const events: string[] = [];
  const record = (type: string) => (_: unknown, reason: string, message: string) => void events.push(`${type} ${reason} ${message}`);
  return {events, recorder: {normal: record('Normal'), warning: record('Warning')}};
};

const controlOf = (plane: Plane) => {
  const {events, recorder} = eventSink();
  const client = plane.client();
  return {
    events,
    control: podControl(kinds.replicaSets, {client, writer: kind => writerOf(client, kind), events: recorder, naming: client.naming}),
  };
};

test('a pod is created from the template, with its controller reference and an event', async t => {
  await using plane = await quiet();
  const {parent} = await environmentOf(plane);
  const {control, events} = controlOf(plane);
  const template = {
    metadata: {labels: {app: 'a'}, annotations: {note: 'x'}, finalizers: ['example.com/hold']},
    spec: {containers: [container]},
  };

  const pod = await control.create(parent, template, {name: 'parent-x'});

  t.deepEqual([pod.metadata?.name, pod.metadata?.generateName], ['parent-x', 'parent-']);
  t.deepEqual(
    [pod.metadata?.labels, pod.metadata?.annotations, pod.metadata?.finalizers, ownersOf(pod)],
    [{app: 'a'}, {note: 'x'}, ['example.com/hold'], ['parent*']],
  );
  t.deepEqual(events, [`Normal SuccessfulCreate Created pod: ${pod.metadata?.name}`]);
});

test('a pod that cannot be created gives an event, but not in a terminating namespace; a template without labels is refused', async t => {
  await using plane = await quiet();
  const {client, parent} = await environmentOf(plane);
  const {control, events} = controlOf(plane);
  await client.resource(kinds.namespaces).create({metadata: {name: 'ending'}, spec: {finalizers: ['example.com/hold']}});
  await client.resource(kinds.namespaces).delete('ending');
  const labelled = {metadata: {labels: {app: 'a'}}, spec: {containers: [] as (typeof container)[]}};

  await t.throwsAsync(control.create(parent, {spec: {containers: [container]}}, {name: 'x'}), {
    message: 'unable to create pods, no labels',
  });
  const refused = await t.throwsAsync(control.create(parent, labelled, {name: 'x'}));
  await t.throwsAsync(
    control.create({metadata: {...parent.metadata, namespace: 'ending'}}, {...labelled, spec: {containers: [container]}}, {name: 'x'}),
  );

  t.deepEqual(events, [`Warning FailedCreate Error creating: ${refused.message}`]);
});

test('a pod is deleted by name and UID, with an event; one that is gone is only reported', async t => {
  await using plane = await quiet();
  const {parent, pods} = await environmentOf(plane);
  const {control, events} = controlOf(plane);
  const pod = await pods.create(aPod('a'));

  const mistaken = await t.throwsAsync(control.delete(parent, {metadata: {...pod.metadata, uid: 'another'}}));
  await control.delete(parent, pod);
  const gone = await t.throwsAsync(control.delete(parent, pod));

  t.true(isNotFound(gone));
  t.regex(mistaken.message, /^unable to delete pods: /);
  t.deepEqual(events, [
    `Warning FailedDelete ${mistaken.message.replace('unable to delete pods', 'Error deleting')}`,
    'Normal SuccessfulDelete Deleted pod: a',
  ]);
});

test('the name of a pod begins with its parent and a dash, or without the dash where that would be no name', t => {
  t.is(podNamePrefix('web'), 'web-');
  t.is(podNamePrefix('a'.repeat(253)), 'a'.repeat(253));
});

test('an object is from before the last own write while its version is lower, and it is the same object', t => {
  const writes = ownWrites();
  const version = (resourceVersion: string, uid = 'u') => ({metadata: {namespace, name: 'n', uid, resourceVersion}});
  t.false(writes.isStale(version('5')));
  writes.wrote(version('10'));

  t.deepEqual(
    [version('9'), version('10'), version('11'), version('9', 'another')].map(each => writes.isStale(each)),
    [true, false, false, false],
  );
  writes.forget(`${namespace}/n`);
  t.false(writes.isStale(version('9')));
});

test('expectations are lowered by the pods that were not created, and by deletions that failed or had nothing to delete', async t => {
  const expected = trackingExpectations(new VirtualClock());
  const failed: string[] = [];
  const names = {plan: () => [], notCreated: (_: unknown, {name}: PlannedPod) => void failed.push(name)};
  const at = {key: 'default/parent', expected, parent: {metadata: {name: 'parent'}}, names};

  const planned = ['a', 'b', 'c', 'd'].map(name => ({name, key: `default/${name}`, slot: '', generateName: '', isRepeated: false}));
  expected.expectCreations(
    at.key,
    planned.map(({key}) => key),
  );
  const created: number[] = [];
  const {successes, error} = await createExpected(
    planned,
    async (_, index) => {
      if (index > 0) throw new Error('no room');
      created.push(index);
    },
    at,
  );
  t.deepEqual([created, failed, successes, (error as Error).message], [[0], ['b', 'c', 'd'], 1, 'no room']);
  expected.created(at.key, 'default/b');
  t.false(expected.satisfied(at.key));
  expected.created(at.key, 'default/a');
  t.true(expected.satisfied(at.key));

  const pods = ['a', 'b', 'c'].map(name => aPod(name));
  expected.expectDeletions(
    at.key,
    pods.map(({metadata}) => `${namespace}/${metadata?.name}`),
  );
  const failures = await deleteExpected(
    pods,
    async ({metadata}) => {
      if (metadata?.name === 'a') throw notFound({group: '', resource: 'pods'}, 'a');
      if (metadata?.name === 'b') throw new Error('not now');
    },
    at,
  );
  t.deepEqual(
    failures.map(failure => (failure as Error).message),
    ['not now'],
  );
  t.false(expected.satisfied(at.key));
  expected.deleted(at.key, `${namespace}/c`);
  t.true(expected.satisfied(at.key));
});
