import test from 'ava';
import {mayAdopt} from '#controllers/shared/children/claiming.js';
import {possibleChildren, controlledBy} from '#controllers/shared/children/children.js';
import {controllingParent} from '#controllers/shared/children/parents.js';
import {selecting} from '#informers/selecting.js';
import {watchPods} from '#controllers/shared/pods/pod-events.js';
import {Cache} from '#informers/cache.js';
import type {Change} from '#informers/change.js';
import type {Source} from '#informers/selection.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {labelSelectorOf, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerRefTo} from '#src/model/owners.js';
import {ago, aPod, aSet, cacheOf, environmentOf, namespace, ownersOf, plat, quiet, type ReplicaSet} from './children.js';

test('a parent adopts matching orphans, keeps its own, releases those that match no more, and ignores the rest', async t => {
  await using plane = await quiet();
  const {client, sets, pods, parent, claim, selector} = await environmentOf(plane);
  const other = await sets.create(aSet('other'));
  const owned = (by: ReplicaSet, pod: Pod): Pod => ({
    ...pod,
    metadata: {...pod.metadata, ownerReferences: [controllerRefTo(by, kinds.replicaSets, client.naming)]},
  });
  const children = [
    await pods.create(aPod('orphan')),
    await pods.create(aPod('stranger', {app: 'b'})),
    await pods.create(owned(parent, aPod('own'))),
    await pods.create(owned(parent, aPod('strayed', {app: 'b'}))),
    await pods.create(owned(other, aPod('foreign'))),
  ];

  const claimed = await claim(parent, children, {selector});

  t.deepEqual(
    claimed.map(({metadata}) => metadata?.name),
    ['orphan', 'own'],
  );
  const after = await Promise.all(children.map(async ({metadata}) => ownersOf(await pods.get(metadata!.name!, {namespace}))));
  t.deepEqual(after, [['parent*'], [], ['parent*'], [], ['other*']]);
});

test('a parent that is being deleted neither adopts nor lets go', async t => {
  await using plane = await quiet();
  const {client, pods, parent, claim, selector} = await environmentOf(plane);
  const going = {...parent, metadata: {...parent.metadata, deletionTimestamp: '2026-01-01T00:00:00Z'}};
  const children = [
    await pods.create(aPod('orphan')),
    await pods.create({
      ...aPod('strayed', {app: 'b'}),
      metadata: {...aPod('strayed', {app: 'b'}).metadata, ownerReferences: [controllerRefTo(parent, kinds.replicaSets, client.naming)]},
    }),
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

test('an orphan that was made again is not adopted for its predecessor, and others are nevertheless', async t => {
  await using plane = await quiet();
  const {pods, parent, claim, selector} = await environmentOf(plane);
  const orphan = await pods.create(aPod('orphan'));
  const second = await pods.create(aPod('second'));
  const former = {...orphan, metadata: {...orphan.metadata, uid: 'another'}};

  await t.throwsAsync(claim(parent, [former, second], {selector}));
  t.deepEqual(ownersOf(await pods.get('orphan', {namespace})), []);
  t.deepEqual(ownersOf(await pods.get('second', {namespace})), ['parent*']);
});

test('finalizers are added with the owner and removed with it', async t => {
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
  await t.throwsAsync(mayAdopt(client, kinds.replicaSets, parent)(), {
    message: /^default\/parent has just been deleted at 2026-01-01T00:00:00Z$/,
  });
  t.deepEqual(ownersOf(await pods.get('orphan', {namespace})), []);
});

test('the possible children of a parent are its own and the orphans of its namespace that it selects', t => {
  const parent = {metadata: {namespace, name: 'parent', uid: '1'}};
  const owned = (pod: Pod, uid: string): Pod => ({
    ...pod,
    metadata: {...pod.metadata, ownerReferences: [{...controllerRefTo(parent, kinds.replicaSets, plat), uid}]},
  });
  const elsewhere = aPod('elsewhere');
  elsewhere.metadata!.namespace = 'other';
  const cache = cacheOf([
    owned(aPod('own', {}), '1'),
    owned(aPod('foreign'), '2'),
    aPod('orphan', {app: 'a'}),
    aPod('other', {app: 'b'}),
    elsewhere,
  ]);
  const children = (selector: LabelSelectorObject) =>
    possibleChildren(cache, parent, labelSelectorOf(selector)).map(({metadata}) => metadata?.name);

  t.deepEqual(children({matchLabels: {app: 'a'}}), ['own', 'orphan']);
  t.deepEqual(children({matchExpressions: [{key: 'app', operator: 'In', values: ['b', 'a', 'b']}]}), ['own', 'other', 'orphan']);
  t.deepEqual(children({matchExpressions: [{key: 'app', operator: 'NotIn', values: ['b']}]}), ['own', 'orphan']);
  t.deepEqual(children({matchLabels: {app: 'a'}, matchExpressions: [{key: 'tier', operator: 'Exists'}]}), ['own']);
  t.deepEqual(
    controlledBy(cache, parent).map(({metadata}) => metadata?.name),
    ['own'],
  );
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
  const parentsOf = (labels: Record<string, string>) =>
    sets
      .parentsOf(cache, aPod('p', labels))
      .map(({metadata}) => metadata?.name)
      .sort();

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
    controllingParent({metadata: {namespace, ownerReferences: [{...reference, ...changed}]}}, kinds.replicaSets, cache, plat)?.metadata
      ?.name;

  t.is(found({}), 'parent');
  t.is(found({apiVersion: 'apps/v1beta1'}), 'parent');
  for (const changed of [{uid: '2'}, {name: 'other'}, {kind: 'StatefulSet'}, {apiVersion: 'example.com/v1'}, {controller: false}])
    t.is(found(changed), undefined);
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
    listen: <T extends KubeObject>(_source: Source<T>, listener: (change: Change<T>) => void) =>
      void (notify = listener as unknown as typeof notify),
    enqueue: ({name}: {readonly name: string}, {afterMs}: {readonly afterMs?: number} = {}) =>
      void received.push(afterMs === undefined ? name : `${name} in ${afterMs}`),
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
  const reference =
    owner === undefined
      ? undefined
      : {...controllerRefTo({metadata: {name: owner.replace('former ', ''), uid: owner}}, kinds.replicaSets, plat)};
  return {
    metadata: {
      namespace,
      name: 'p',
      labels,
      resourceVersion: version,
      ...(going ? {deletionTimestamp: ago(1)} : {}),
      ...(reference ? {ownerReferences: [reference]} : {}),
    },
    status: {phase: 'Running', conditions: [{type: 'Ready', status: ready ? 'True' : 'False'}]},
  };
};
const added = (pod: PodLook): Change<Pod> => ({type: 'added', object: looking(pod), initial: false});
const updated = (old: PodLook, pod: PodLook): Change<Pod> => ({
  type: 'updated',
  old: looking(old),
  object: looking({version: '2', ...pod}),
});
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
  [
    'a pod that terminates with new labels is handled twice',
    updated({owner: 'one'}, {owner: 'one', going: true, labels: {}}),
    ['deleted default/one p', 'one', 'deleted default/one p', 'one'],
  ],
  ['a pod with a new parent enqueues both', updated({owner: 'one'}, {owner: 'two'}), ['one', 'two']],
  ['a released pod enqueues its former parent and those that select it', updated({owner: 'one'}, {labels: {app: 'b'}}), ['one', 'two']],
  ['an orphan with new labels enqueues the parents that select it now', updated({labels: {}}, {}), ['one']],
  ['an orphan that changes otherwise enqueues nothing', updated({}, {ready: true}), []],
  [
    'a pod that becomes ready enqueues its parent again after minReadySeconds',
    updated({owner: 'one'}, {owner: 'one', ready: true}),
    ['one', 'one in 11000'],
    10,
  ],
  ['a pod that stays ready does not', updated({owner: 'one', ready: true}, {owner: 'one', ready: true}), ['one'], 10],
  ['a deleted pod counts as deleted', deleted({owner: 'one'}), ['deleted default/one p', 'one']],
  ['a deleted orphan enqueues nothing', deleted({}), []],
] as const) {
  test(`of pods: ${title}`, t => t.deepEqual(following(minReadySeconds)(change), [...enqueued]));
}
