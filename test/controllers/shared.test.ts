import test from 'ava';
import {claimer, mayAdopt} from '#controllers/shared/children/claiming.js';
import {possibleChildren, controlledBy} from '#controllers/shared/children/children.js';
import {podsToDelete, ranksByNode} from '#controllers/shared/replicas/deletion-order.js';
import {expectations, trackingExpectations} from '#controllers/shared/children/expectations.js';
import {controllingParent} from '#controllers/shared/children/parents.js';
import {selecting} from '#informers/selecting.js';
import {createExpected, deleteExpected} from '#controllers/shared/pods/expected-changes.js';
import {podControl, podNamePrefix} from '#controllers/shared/pods/pod-control.js';
import {byRevision, createRevision, newRevision, nextRevision, renumbered, revisionsOf, surplusRevisions, templatePatch, withRevision, type ControllerRevision} from '#controllers/shared/children/revisions.js';
import {servicesOfPodChange, type Service} from '#controllers/shared/endpoints/services.js';
import {ownWrites} from '#controllers/shared/own-writes.js';
import {slowStart} from '#controllers/shared/pods/slow-start.js';
import {watchPods} from '#controllers/shared/pods/pod-events.js';
import {Cache} from '#informers/cache.js';
import type {Change} from '#informers/change.js';
import type {Source} from '#informers/selection.js';
import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import type {Pod} from '#src/api/pod.js';
import {labelSelectorOf, selectorForLabels, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {isNotFound, notFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {controllerRefTo} from '#src/model/owners.js';
import {naming} from '#src/api/naming.js';
import type {Plane} from '#src/plane/plane.js';
import {writerOf} from '#src/runtime/writer.js';
import {aPlane} from './plane.js';

type ReplicaSet = ObjectOf<typeof kinds.replicaSets>;

const namespace = 'default';
const plat = naming('plat');
const container = {name: 'c', image: 'example.com/app:1'};

const aSet = (name: string, labels: Record<string, string> = {app: 'a'}): ReplicaSet => ({
  metadata: {namespace, name},
  spec: {replicas: 0, selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [container]}}},
});

const aPod = (name: string, labels: Record<string, string> = {app: 'a'}): Pod => ({metadata: {namespace, name, labels}, spec: {containers: [container]}});

/** A plane without the controllers that would act on a test's objects. */
const quiet = () => aPlane({controllerManagerArgs: ['--controllers=serviceaccount-controller']});

const environmentOf = async (plane: Plane) => {
  const client = plane.client();
  const sets = client.resource(kinds.replicaSets);
  const pods = client.resource(kinds.pods);
  const parent = await sets.create(aSet('parent'));
  const claim = claimer({client, parents: kinds.replicaSets, children: kinds.pods});
  const selector = labelSelectorOf(parent.spec!.selector);
  return {client, sets, pods, parent, claim, selector};
};

const ownersOf = ({metadata}: KubeObject) => (metadata?.ownerReferences ?? []).map(({name, controller}) => `${name}${controller ? '*' : ''}`);

test('a parent adopts matching orphans, keeps its own, releases those that match no more, and ignores the rest', async t => {
  await using plane = await quiet();
  const {client, sets, pods, parent, claim, selector} = await environmentOf(plane);
  const other = await sets.create(aSet('other'));
  const owned = (by: ReplicaSet, pod: Pod): Pod => ({...pod, metadata: {...pod.metadata, ownerReferences: [controllerRefTo(by, kinds.replicaSets, client.naming)]}});
  const children = [
    await pods.create(aPod('orphan')),
    await pods.create(aPod('stranger', {app: 'b'})),
    await pods.create(owned(parent, aPod('own'))),
    await pods.create(owned(parent, aPod('strayed', {app: 'b'}))),
    await pods.create(owned(other, aPod('foreign'))),
  ];

  const claimed = await claim(parent, children, {selector});

  t.deepEqual(claimed.map(({metadata}) => metadata?.name), ['orphan', 'own']);
  const after = await Promise.all(children.map(async ({metadata}) => ownersOf(await pods.get(metadata!.name!, {namespace}))));
  t.deepEqual(after, [['parent*'], [], ['parent*'], [], ['other*']]);
});

test('a parent that is being deleted neither adopts nor lets go', async t => {
  await using plane = await quiet();
  const {client, pods, parent, claim, selector} = await environmentOf(plane);
  const going = {...parent, metadata: {...parent.metadata, deletionTimestamp: '2026-01-01T00:00:00Z'}};
  const children = [
    await pods.create(aPod('orphan')),
    await pods.create({...aPod('strayed', {app: 'b'}), metadata: {...aPod('strayed', {app: 'b'}).metadata, ownerReferences: [controllerRefTo(parent, kinds.replicaSets, client.naming)]}}),
  ];

  t.deepEqual(await claim(going, children, {selector}), []);
  t.deepEqual(await Promise.all(['orphan', 'strayed'].map(async name => ownersOf(await pods.get(name, {namespace})))), [[], ['parent*']]);
});

test('an orphan that is being deleted, fails the further condition, or is gone, is not adopted', async t => {
  await using plane = await quiet();
  const {pods, parent, claim, selector} = await environmentOf(plane);
  const orphan = await pods.create(aPod('orphan'));
  const going = {...orphan, metadata: {...orphan.metadata, deletionTimestamp: '2026-01-01T00:00:00Z'}};

  t.deepEqual(await claim(parent, [going], {selector}), []);
  t.deepEqual(await claim(parent, [orphan], {selector, also: () => false}), []);
  t.deepEqual(await claim(parent, [{...orphan, metadata: {...orphan.metadata, name: 'gone'}}], {selector}), []);
});

test('an orphan that was made again is not adopted for its predecessor, and others are all the same', async t => {
  await using plane = await quiet();
  const {pods, parent, claim, selector} = await environmentOf(plane);
  const orphan = await pods.create(aPod('orphan'));
  const second = await pods.create(aPod('second'));
  const former = {...orphan, metadata: {...orphan.metadata, uid: 'another'}};

  await t.throwsAsync(claim(parent, [former, second], {selector}));
  t.deepEqual(ownersOf(await pods.get('orphan', {namespace})), []);
  t.deepEqual(ownersOf(await pods.get('second', {namespace})), ['parent*']);
});

test('finalizers come with the owner and go with it', async t => {
  await using plane = await quiet();
  const {pods, parent, claim, selector} = await environmentOf(plane);
  const finalizers = ['example.com/tracking'];
  await claim(parent, [await pods.create(aPod('orphan'))], {selector, finalizers});
  const adopted = await pods.get('orphan', {namespace});
  t.deepEqual(adopted.metadata?.finalizers, finalizers);

  await claim(parent, [{...adopted, metadata: {...adopted.metadata, labels: {}}}], {selector, finalizers});

  const released = await pods.get('orphan', {namespace});
  t.deepEqual([ownersOf(released), released.metadata?.finalizers ?? []], [[], []]);
});

test('before the first adoption the server confirms that the parent is the same and not terminating', async t => {
  await using plane = await quiet();
  const {client, pods, sets, parent, claim, selector} = await environmentOf(plane);
  const {uid} = await pods.create(aPod('orphan')).then(({metadata}) => metadata!);
  const orphan = await pods.get('orphan', {namespace});
  const stale = {...parent, metadata: {...parent.metadata, uid: 'stale'}};

  await t.throwsAsync(claim(stale, [orphan], {selector}), {
    message: `can't adopt Pod default/orphan (${uid}): can't recheck DeletionTimestamp: original ReplicaSet default/parent is gone: got uid ${parent.metadata?.uid}, wanted stale`,
  });
  await sets.update({...parent, metadata: {...parent.metadata, finalizers: ['example.com/hold']}});
  await sets.delete('parent', {namespace});
  await t.throwsAsync(mayAdopt(client, kinds.replicaSets, parent)(), {message: /^default\/parent has just been deleted at 2026-01-01T00:00:00Z$/});
  t.deepEqual(ownersOf(await pods.get('orphan', {namespace})), []);
});

test('expectations are met once everything was seen, and count for five minutes at most', async t => {
  const clock = new VirtualClock();
  const expected = expectations(clock);
  t.true(expected.satisfied('a'));
  expected.expect('a', {creations: 2, deletions: 1});
  expected.created('a');
  expected.deleted('a');
  t.false(expected.satisfied('a'));
  t.true(expected.satisfied('b'));
  expected.created('a');
  t.true(expected.satisfied('a'));

  expected.expect('a', {creations: 1});
  await clock.advance(300_000);
  t.false(expected.satisfied('a'));
  await clock.advance(1);
  t.true(expected.satisfied('a'));

  expected.expect('a', {deletions: 1});
  expected.forget('a');
  t.true(expected.satisfied('a'));
});

test('a deletion that is seen twice counts once, and others do not count', t => {
  const expected = trackingExpectations(new VirtualClock());
  expected.expectDeletions('a', ['x/1', 'x/2']);
  expected.deleted('a', 'x/1');
  expected.deleted('a', 'x/1');
  expected.deleted('a', 'x/3');
  t.false(expected.satisfied('a'));
  expected.deleted('a', 'x/2');
  t.true(expected.satisfied('a'));

  expected.expectCreations('a', 1);
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
  return {events, control: podControl(kinds.replicaSets, {writer: kind => writerOf(client, kind), events: recorder, naming: client.naming})};
};

test('a pod is created from the template, with its controller reference and an event', async t => {
  await using plane = await quiet();
  const {parent} = await environmentOf(plane);
  const {control, events} = controlOf(plane);
  const template = {metadata: {labels: {app: 'a'}, annotations: {note: 'x'}, finalizers: ['example.com/hold']}, spec: {containers: [container]}};

  const pod = await control.create(parent, template);

  t.regex(pod.metadata!.name!, /^parent-[a-z0-9]{5}$/);
  t.deepEqual([pod.metadata?.labels, pod.metadata?.annotations, pod.metadata?.finalizers, ownersOf(pod)], [{app: 'a'}, {note: 'x'}, ['example.com/hold'], ['parent*']]);
  t.deepEqual(events, [`Normal SuccessfulCreate Created pod: ${pod.metadata?.name}`]);
});

test('a pod that cannot be created gives an event, but not in a terminating namespace; a template without labels is refused', async t => {
  await using plane = await quiet();
  const {client, parent} = await environmentOf(plane);
  const {control, events} = controlOf(plane);
  await client.resource(kinds.namespaces).create({metadata: {name: 'ending'}, spec: {finalizers: ['example.com/hold']}});
  await client.resource(kinds.namespaces).delete('ending');
  const labelled = {metadata: {labels: {app: 'a'}}, spec: {containers: [] as (typeof container)[]}};

  await t.throwsAsync(control.create(parent, {spec: {containers: [container]}}), {message: 'unable to create pods, no labels'});
  const refused = await t.throwsAsync(control.create(parent, labelled));
  await t.throwsAsync(control.create({metadata: {...parent.metadata, namespace: 'ending'}}, {...labelled, spec: {containers: [container]}}));

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
  t.deepEqual(events, [`Warning FailedDelete ${mistaken.message.replace('unable to delete pods', 'Error deleting')}`, 'Normal SuccessfulDelete Deleted pod: a']);
});

test('the name of a pod begins with its parent and a dash, or without the dash where that would be no name', t => {
  t.is(podNamePrefix('web'), 'web-');
  t.is(podNamePrefix('a'.repeat(253)), 'a'.repeat(253));
});

const noon = Date.parse('2026-01-01T12:00:00Z');
const ago = (seconds: number): string => new Date(noon - seconds * 1000).toISOString().replace('.000', '');

interface Shape {
  node?: string;
  phase?: string;
  ready?: number | 'untimed';
  cost?: string;
  restarts?: number;
  sidecarRestarts?: number;
  age?: number;
  uid?: string;
}
const shaped = ({node = 'n', phase = 'Running', ready, cost, restarts = 0, sidecarRestarts = 0, age = 1000, uid = 'u'}: Shape): Pod => ({
  metadata: {name: 'p', uid, creationTimestamp: ago(age), ...(cost === undefined ? {} : {annotations: {[plat.subKey('controller', 'pod-deletion-cost')]: cost}})},
  spec: {containers: [container], initContainers: [{...container, name: 'side', restartPolicy: 'Always'}, {...container, name: 'init'}], ...(node ? {nodeName: node} : {})},
  status: {
    phase,
    conditions: ready === undefined ? [] : [{type: 'Ready', status: 'True', ...(ready === 'untimed' ? {} : {lastTransitionTime: ago(ready)})}],
    containerStatuses: [{name: 'c', restartCount: restarts, image: '', imageID: '', ready: true}],
    initContainerStatuses: [
      {name: 'side', restartCount: sidecarRestarts, image: '', imageID: '', ready: true},
      {name: 'init', restartCount: 99, image: '', imageID: '', ready: true},
    ],
  },
});

for (const [title, first, second] of [
  ['without a node before one with', {node: '', phase: 'Pending'}, {phase: 'Pending'}],
  ['pending before one unknown', {phase: 'Pending'}, {phase: 'Unknown'}],
  ['unknown before a running one', {phase: 'Unknown'}, {phase: 'Running'}],
  ['not ready before a ready one', {}, {ready: 10}],
  ['not ready before a cheaper ready one', {cost: '5'}, {ready: 10, cost: '-5'}],
  ['that costs less', {ready: 10, cost: '-5'}, {ready: 10}],
  ['whose cost is no number counts as free', {ready: 10, cost: '-1'}, {ready: 10, cost: '+5x'}],
  ['that shares its node with more', {ready: 10, node: 'crowded', age: 5000}, {ready: 1, node: 'n'}],
  ['ready for a shorter time', {ready: 10}, {ready: 1000}],
  ['ready without a time', {ready: 'untimed'}, {ready: 1}],
  ['ready for about as long, by its UID', {ready: 1000, uid: 'a', restarts: 0}, {ready: 900, uid: 'b', restarts: 5}],
  ['restarted more often', {restarts: 3, age: 5000}, {restarts: 2, age: 1}],
  ['whose sidecars restarted more often', {sidecarRestarts: 3, age: 5000}, {sidecarRestarts: 2, age: 1}],
  ['that is younger', {age: 10}, {age: 1000}],
  ['of about the same age, by its UID', {age: 1000, uid: 'a'}, {age: 900, uid: 'b'}],
] as const satisfies readonly (readonly [string, Shape, Shape])[]) {
  test(`of two pods goes the one ${title}`, t => {
    const rankOf = (pod: Frozen<Pod>) => (pod.spec?.nodeName === 'crowded' ? 3 : 1);
    const [goes, stays] = [shaped(first), shaped(second)];
    const order = {now: noon, costAnnotation: plat.subKey('controller', 'pod-deletion-cost'), rankOf};

    t.deepEqual(podsToDelete([goes, stays], 1, order), [goes]);
    t.deepEqual(podsToDelete([stays, goes], 1, order), [goes]);
  });
}

test('without a moment ages are compared exactly', t => {
  const [old, young] = [shaped({age: 1000, uid: 'a'}), shaped({age: 900, uid: 'b'})];
  const [ready, fresh] = [shaped({ready: 1000, uid: 'a'}), shaped({ready: 900, uid: 'b'})];

  t.deepEqual(podsToDelete([old, young], 1, {}), [young]);
  t.deepEqual(podsToDelete([ready, fresh], 1, {}), [fresh]);
});

test('deletion costs count only with the gate', t => {
  const cheap = shaped({cost: '-5', age: 1000});
  const young = shaped({age: 1});

  t.deepEqual(podsToDelete([cheap, young], 1, {now: noon}), [young]);
});

test('the endpoints of a service follow a pod that gets an address or another state, not one that is bound to a node', t => {
  const cache = new Cache<Service>();
  cache.replace([{metadata: {namespace, name: 'web', uid: 'u'}, spec: {selector: {app: 'a'}}}]);
  const old = aPod('p');
  const bound: Pod = {...old, spec: {...old.spec!, nodeName: 'n'}};
  const addressed: Pod = {...bound, status: {podIPs: [{ip: '10.0.0.1'}]}};
  const concerned = (before: Pod, after: Pod) => servicesOfPodChange({type: 'updated', old: before, object: after}, cache).map(({name}) => name);

  t.deepEqual(concerned(old, bound), []);
  t.deepEqual(concerned(bound, addressed), ['web']);
  t.deepEqual(concerned(addressed, {...addressed, status: {...addressed.status, conditions: [{type: 'Ready', status: 'True'}]}}), ['web']);
});

test('the rank of a pod is how many active pods share its node', t => {
  const rankOf = ranksByNode([shaped({node: 'a'}), shaped({node: 'a'}), shaped({node: 'a', phase: 'Failed'}), shaped({node: 'b'})]);

  t.deepEqual(['a', 'b', 'c'].map(node => rankOf(shaped({node}))), [2, 1, 0]);
});

const cacheOf = <T extends KubeObject>(objects: readonly T[]): Cache<T> => {
  const cache = new Cache<T>();
  cache.replace(objects as readonly Frozen<T>[]);
  return cache;
};

test('the possible children of a parent are its own and the orphans of its namespace that it selects', t => {
  const parent = {metadata: {namespace, name: 'parent', uid: '1'}};
  const owned = (pod: Pod, uid: string): Pod => ({...pod, metadata: {...pod.metadata, ownerReferences: [{...controllerRefTo(parent, kinds.replicaSets, plat), uid}]}});
  const elsewhere = aPod('elsewhere');
  elsewhere.metadata!.namespace = 'other';
  const cache = cacheOf([owned(aPod('own', {}), '1'), owned(aPod('foreign'), '2'), aPod('orphan', {app: 'a'}), aPod('other', {app: 'b'}), elsewhere]);
  const children = (selector: LabelSelectorObject) => possibleChildren(cache, parent, labelSelectorOf(selector)).map(({metadata}) => metadata?.name);

  t.deepEqual(children({matchLabels: {app: 'a'}}), ['own', 'orphan']);
  t.deepEqual(children({matchExpressions: [{key: 'app', operator: 'In', values: ['b', 'a', 'b']}]}), ['own', 'other', 'orphan']);
  t.deepEqual(children({matchExpressions: [{key: 'app', operator: 'NotIn', values: ['b']}]}), ['own', 'orphan']);
  t.deepEqual(children({matchLabels: {app: 'a'}, matchExpressions: [{key: 'tier', operator: 'Exists'}]}), ['own']);
  t.deepEqual(controlledBy(cache, parent).map(({metadata}) => metadata?.name), ['own']);
});

test('an orphan is shown to every parent of its namespace that selects it', t => {
  const sets = selecting<ReplicaSet>(({spec}) => spec?.selector);
  const withSelector = (name: string, selector: NonNullable<ReplicaSet['spec']>['selector'], home = namespace): ReplicaSet => {
    const set = aSet(name);
    return {...set, metadata: {...set.metadata, namespace: home}, spec: {...set.spec!, selector}};
  };
  const cache = cacheOf([
    withSelector('same', {matchLabels: {app: 'a'}}),
    withSelector('two', {matchLabels: {app: 'a', tier: 'x'}}),
    withSelector('one of', {matchExpressions: [{key: 'app', operator: 'In', values: ['a', 'b']}]}),
    withSelector('not', {matchExpressions: [{key: 'app', operator: 'NotIn', values: ['b']}]}),
    withSelector('other', {matchLabels: {app: 'b'}}),
    withSelector('malformed', {matchExpressions: [{key: 'app', operator: 'Is', values: ['a']}]}),
    withSelector('elsewhere', {matchLabels: {app: 'a'}}, 'other'),
  ]);
  const parentsOf = (labels: Record<string, string>) => sets.parentsOf(cache, aPod('p', labels)).map(({metadata}) => metadata?.name).sort();

  t.deepEqual(parentsOf({app: 'a'}), ['not', 'one of', 'same']);
  t.deepEqual(parentsOf({app: 'a', tier: 'x'}), ['not', 'one of', 'same', 'two']);
  t.deepEqual(parentsOf({app: 'b'}), ['one of', 'other']);
  t.deepEqual(parentsOf({}), ['not']);
});

test('the controlling parent is found by kind, group, name and UID', t => {
  const parent: ReplicaSet = {...aSet('parent'), metadata: {namespace, name: 'parent', uid: '1'}};
  const cache = cacheOf([parent]);
  const reference = controllerRefTo(parent, kinds.replicaSets, plat);
  const found = (changed: Partial<typeof reference>) =>
    controllingParent({metadata: {namespace, ownerReferences: [{...reference, ...changed}]}}, kinds.replicaSets, cache, plat)?.metadata?.name;

  t.is(found({}), 'parent');
  t.is(found({apiVersion: 'apps/v1beta1'}), 'parent');
  for (const changed of [{uid: '2'}, {name: 'other'}, {kind: 'StatefulSet'}, {apiVersion: 'example.com/v1'}, {controller: false}]) t.is(found(changed), undefined);
});

/** The keys that changes of pods enqueue, with a set `one` that selects app=a and one `two` that selects app=b. */
const following = (minReadySeconds = 0) => {
  const parent = (name: string, app: string): ReplicaSet => {
    const made = aSet(name, {app});
    return {...made, metadata: {...made.metadata, uid: name}, spec: {...made.spec!, minReadySeconds}};
  };
  const [one, two] = [parent('one', 'a'), parent('two', 'b')];
  const received: string[] = [];
  let notify: (change: Change<Pod>) => void = () => {};
  const context = {
    naming: plat,
    lister: <T extends KubeObject>() => cacheOf([one, two]) as unknown as Cache<T>,
    listen: <T extends KubeObject>(_source: Source<T>, listener: (change: Change<T>) => void) => void (notify = listener as unknown as typeof notify),
    enqueue: ({name}: {readonly name: string}, {afterMs}: {readonly afterMs?: number} = {}) => void received.push(afterMs === undefined ? name : `${name} in ${afterMs}`),
  };
  watchPods<ReplicaSet>(context, {
    parents: kinds.replicaSets,
    selecting: selecting(({spec}) => spec?.selector),
    created: key => void received.push(`created ${key}`),
    deleted: (key, pod) => void received.push(`deleted ${key} ${pod.metadata?.name}`),
    minReadySecondsOf: ({spec}) => spec?.minReadySeconds,
  });
  return (change: Change<Pod>) => {
    received.length = 0;
    notify(change);
    return [...received];
  };
};

interface PodLook {
  labels?: Record<string, string>;
  owner?: string;
  going?: boolean;
  ready?: boolean;
  version?: string;
}
const looking = ({labels = {app: 'a'}, owner, going, ready, version = '1'}: PodLook): Pod => {
  const reference = owner === undefined ? undefined : {...controllerRefTo({metadata: {name: owner.replace('former ', ''), uid: owner}}, kinds.replicaSets, plat)};
  return {
    metadata: {namespace, name: 'p', labels, resourceVersion: version, ...(going ? {deletionTimestamp: ago(1)} : {}), ...(reference ? {ownerReferences: [reference]} : {})},
    status: {phase: 'Running', conditions: [{type: 'Ready', status: ready ? 'True' : 'False'}]},
  };
};
const added = (pod: PodLook): Change<Pod> => ({type: 'added', object: looking(pod), initial: false});
const updated = (old: PodLook, pod: PodLook): Change<Pod> => ({type: 'updated', old: looking(old), object: looking({version: '2', ...pod})});
const deleted = (pod: PodLook): Change<Pod> => ({type: 'deleted', object: looking(pod), tombstone: false});

for (const [title, change, enqueued, minReadySeconds] of [
  ['a new pod counts as made for its parent', added({owner: 'one'}), ['created default/one', 'one']],
  ['a new pod that is on its way out counts as deleted', added({owner: 'one', going: true}), ['deleted default/one p', 'one']],
  ['a new pod of a deleted parent enqueues nothing', added({owner: 'former one'}), []],
  ['a new orphan enqueues the parents that select it', added({labels: {app: 'b'}}), ['two']],
  ['a new terminating orphan enqueues nothing', added({going: true}), []],
  ['a change enqueues the parent', updated({owner: 'one'}, {owner: 'one', ready: true}), ['one']],
  ['a resync enqueues nothing', updated({owner: 'one'}, {owner: 'one', version: '1'}), []],
  ['a pod marked to be deleted counts as deleted', updated({owner: 'one'}, {owner: 'one', going: true}), ['deleted default/one p', 'one']],
  ['a pod that terminates with new labels is handled twice', updated({owner: 'one'}, {owner: 'one', going: true, labels: {}}), ['deleted default/one p', 'one', 'deleted default/one p', 'one']],
  ['a pod with a new parent enqueues both', updated({owner: 'one'}, {owner: 'two'}), ['one', 'two']],
  ['a released pod enqueues its former parent and those that select it', updated({owner: 'one'}, {labels: {app: 'b'}}), ['one', 'two']],
  ['an orphan with new labels enqueues the parents that select it now', updated({labels: {}}, {}), ['one']],
  ['an orphan that changes otherwise enqueues nothing', updated({}, {ready: true}), []],
  ['a pod that becomes ready enqueues its parent again after minReadySeconds', updated({owner: 'one'}, {owner: 'one', ready: true}), ['one', 'one in 11000'], 10],
  ['a pod that stays ready does not', updated({owner: 'one', ready: true}, {owner: 'one', ready: true}), ['one'], 10],
  ['a deleted pod counts as deleted', deleted({owner: 'one'}), ['deleted default/one p', 'one']],
  ['a deleted orphan enqueues nothing', deleted({}), []],
] as const) {
  test(`of pods: ${title}`, t => t.deepEqual(following(minReadySeconds)(change), [...enqueued]));
}

const aParent = {metadata: {namespace, name: 'parent', uid: '1', annotations: {note: 'x'}}};
const template = {metadata: {labels: {app: 'a'}}, spec: {containers: [container]}};
const history = {parent: aParent, kind: kinds.statefulSets, labels: {app: 'a'}, data: templatePatch(template), naming: plat};

test('a revision is named after parent and content, and carries labels, hash, annotations and owner', t => {
  const revision = newRevision({...history, revision: 3});
  const hash = revision.metadata!.labels![plat.subKey('controller', 'hash')]!;

  t.is(revision.metadata?.name, `parent-${hash}`);
  t.deepEqual([revision.metadata?.labels?.['app'], revision.metadata?.annotations, ownersOf(revision), revision.revision], ['a', {note: 'x'}, ['parent*'], 3]);
  t.not(newRevision({...history, revision: 3, collisionCount: 1}).metadata?.name, revision.metadata?.name);
  t.is(newRevision({...history, parent: {metadata: {name: 'p'.repeat(250)}}, revision: 1}).metadata!.name!.lastIndexOf('-'), 223);
});

test('a revision is written with its keys in order, as clients write it that compare the bytes', t => {
  const patch = templatePatch({spec: {containers: [{name: 'a', image: 'x', resources: {}}], dnsPolicy: 'Default'}, metadata: {labels: {b: '1', a: '2'}}});

  t.is(
    JSON.stringify(patch),
    '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"2","b":"1"}},"spec":{"containers":[{"image":"x","name":"a","resources":{}}],"dnsPolicy":"Default"}}}}',
  );
});

test('revisions are in order of number, age and name, and the next one follows the highest', t => {
  const revision = (number: number, name: string, age: number): ControllerRevision => ({metadata: {name, creationTimestamp: ago(age)}, revision: number});
  const revisions = [revision(2, 'c', 5), revision(1, 'b', 5), revision(1, 'a', 5), revision(1, 'z', 9)];

  t.deepEqual(revisions.sort(byRevision).map(({metadata}) => metadata?.name), ['z', 'a', 'b', 'c']);
  t.is(nextRevision(revisions), 3);
  t.is(nextRevision([]), 1);
});

test('beyond the limit the oldest idle revisions go, never one in use', t => {
  const revisions = [1, 2, 3, 4, 5].map(revision => ({revision}));
  const surplus = (limit: number) => surplusRevisions(revisions, limit, ({revision}) => revision === 2 || revision === 5).map(({revision}) => revision);

  t.deepEqual([surplus(3), surplus(2), surplus(1), surplus(0)], [[], [1], [1, 3], [1, 3, 4]]);
});

test('a revision brings back the template it was made of', async t => {
  await using plane = await quiet();
  const {revision} = await createRevision(plane.client(), {...history, revision: 1});
  const other = {metadata: {name: 'parent'}, spec: {replicas: 4, template: {metadata: {labels: {app: 'b'}}, spec: {containers: []}}}};

  t.deepEqual(withRevision(other, revision), {metadata: {name: 'parent'}, spec: {replicas: 4, template}});
});

test('a revision that is there already is taken, and where another has its name the collision count makes a new one', async t => {
  await using plane = await quiet();
  const client = plane.client();
  const resource = client.resource(kinds.controllerRevisions);
  const {revision: first, collisionCount} = await createRevision(client, {...history, revision: 1});
  t.is((await createRevision(client, {...history, revision: 2})).revision.metadata?.uid, first.metadata?.uid);
  t.is(collisionCount, 0);

  await resource.delete(first.metadata!.name!, {namespace});
  await resource.create({metadata: {namespace, name: first.metadata!.name!}, data: {other: true}, revision: 1});
  const again = await createRevision(client, {...history, revision: 2});

  t.is(again.collisionCount, 1);
  t.not(again.revision.metadata?.name, first.metadata?.name);
});

test('a revision gets its new number in spite of changes meanwhile', async t => {
  await using plane = await quiet();
  const client = plane.client();
  const {revision} = await createRevision(client, {...history, revision: 1});
  await client.resource(kinds.controllerRevisions).patch(revision.metadata!.name!, 'merge', {metadata: {labels: {more: 'x'}}}, {namespace});

  const after = await renumbered(client, revision, 4);

  t.deepEqual([after.revision, after.metadata?.labels?.['more']], [4, 'x']);
});

test('the history of a parent is the revisions it owns or could adopt, the oldest first', t => {
  const revision = (name: string, number: number, changes: object): ControllerRevision => ({
    metadata: {namespace, name, labels: {app: 'a'}, ownerReferences: [controllerRefTo(aParent, kinds.statefulSets, plat)], ...changes},
    revision: number,
  });
  const foreign = [{...controllerRefTo(aParent, kinds.statefulSets, plat), uid: '2'}];
  const cache = cacheOf([revision('c', 3, {}), revision('a', 1, {ownerReferences: []}), revision('b', 2, {labels: {app: 'b'}}), revision('d', 4, {ownerReferences: foreign})]);

  t.deepEqual(revisionsOf(cache, aParent, selectorForLabels({app: 'a'})).map(({metadata}) => metadata?.name), ['a', 'c']);
});

test('the failures of several children are one error', async t => {
  await using plane = await quiet();
  const {claim, pods, parent, selector} = await environmentOf(plane);
  const orphans = [await pods.create(aPod('a')), await pods.create(aPod('b'))];
  const stale = {...parent, metadata: {...parent.metadata, name: 'gone'}};

  const error = await t.throwsAsync(claim(stale, orphans, {selector}));
  t.regex(error.message, /^\[can't adopt Pod default\/a .*, can't adopt Pod default\/b .*\]$/);
});

test('an object is from before the last own write while its version is lower, and it is the same object', t => {
  const writes = ownWrites();
  const version = (resourceVersion: string, uid = 'u') => ({metadata: {namespace, name: 'n', uid, resourceVersion}});
  t.false(writes.isStale(version('5')));
  writes.wrote(version('10'));

  t.deepEqual([version('9'), version('10'), version('11'), version('9', 'another')].map(each => writes.isStale(each)), [true, false, false, false]);
  writes.forget(`${namespace}/n`);
  t.false(writes.isStale(version('9')));
});

test('expectations are lowered by the pods that were not created, and by deletions that failed or had nothing to delete', async t => {
  const expected = trackingExpectations(new VirtualClock());
  const at = {key: 'default/parent', expected};

  expected.expectCreations(at.key, 3);
  const created: number[] = [];
  const {successes, error} = await createExpected(3, async index => {
    if (index > 0) throw new Error('no room');
    created.push(index);
  }, at);
  t.deepEqual([created, successes, (error as Error).message], [[0], 1, 'no room']);
  t.false(expected.satisfied(at.key));
  expected.created(at.key);
  t.true(expected.satisfied(at.key));

  const pods = ['a', 'b', 'c'].map(name => aPod(name));
  expected.expectDeletions(at.key, pods.map(({metadata}) => `${namespace}/${metadata?.name}`));
  const failures = await deleteExpected(pods, async ({metadata}) => {
    if (metadata?.name === 'a') throw notFound({group: '', resource: 'pods'}, 'a');
    if (metadata?.name === 'b') throw new Error('not now');
  }, at);
  t.deepEqual(failures.map(failure => (failure as Error).message), ['not now']);
  t.false(expected.satisfied(at.key));
  expected.deleted(at.key, `${namespace}/c`);
  t.true(expected.satisfied(at.key));
});
