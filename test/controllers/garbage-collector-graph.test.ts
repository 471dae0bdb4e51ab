import test from 'ava';
import {AbsentOwners} from '#controllers/garbage-collector/absent-owners.js';
import {Collector} from '#controllers/garbage-collector/collect.js';
import {Graph} from '#controllers/garbage-collector/graph.js';
import type {Identity, Owner} from '#controllers/garbage-collector/identity.js';
import type {Live} from '#controllers/garbage-collector/live.js';
import {Node} from '#controllers/garbage-collector/node.js';
import {alternativeTo, ownerChanges, unblocked} from '#controllers/garbage-collector/references.js';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

const [namespace, elsewhere] = ['x', 'y'];
const now = '2026-01-01T00:00:00Z';
const pod = {apiVersion: 'v1', kind: 'Pod'};

const owner = (name: string, rest: Partial<Owner> = {}): Owner => ({apiVersion: 'v1', kind: 'Owner', name, uid: 'u', ...rest});
const identity = (name: string, rest: Partial<Identity> = {}): Identity => ({
  apiVersion: 'v1',
  kind: 'Owner',
  namespace,
  name,
  uid: 'u',
  ...rest,
});
const object = (
  name: string,
  ownerReferences: readonly Owner[] = [],
  metadata: Frozen<KubeObject['metadata']> = {},
): Frozen<KubeObject> => ({
  metadata: {namespace, name, uid: name, ownerReferences, ...metadata},
});

/** A graph, and its requests since the last look. */
const watching = () => {
  const calls: string[] = [];
  const record =
    (what: string) =>
    ({identity: {name, kind}}: Node) =>
      void calls.push(`${what} ${kind} ${name}`);
  const graph = new Graph(new AbsentOwners(), {
    attemptToDelete: record('suspect'),
    attemptToDeleteLater: record('later'),
    attemptToOrphan: record('orphan'),
    ownerInOtherNamespace: (dependent, {name}) => calls.push(`${dependent.identity.name} strayed from ${name}`),
  });
  const saw = (seen: Frozen<KubeObject>, kind: Pick<Identity, 'apiVersion' | 'kind'> = pod) =>
    graph.processChange({type: 'added', object: seen, initial: false}, kind);
  const changed = (seen: Frozen<KubeObject>, old: Frozen<KubeObject>, kind: Pick<Identity, 'apiVersion' | 'kind'> = pod) =>
    graph.processChange({type: 'updated', object: seen, old}, kind);
  const lost = (seen: Frozen<KubeObject>, kind: Pick<Identity, 'apiVersion' | 'kind'> = pod) =>
    graph.processChange({type: 'deleted', object: seen, tombstone: false}, kind);
  return {graph, saw, changed, lost, calls: () => calls.splice(0)};
};
const ownerKind = {apiVersion: 'v1', kind: 'Owner'};
const anOwner = (name: string, metadata: Frozen<KubeObject['metadata']> = {}) => object(name, [], {uid: 'u', ...metadata});

test('an owner that was never observed is checked once, dependents that agree on it are not', t => {
  const {graph, saw, calls} = watching();
  saw(object('a', [owner('o')]));
  saw(object('b', [owner('o')]));

  t.deepEqual(calls(), ['suspect Owner o']);
  t.true(graph.get('u')?.virtual);
  t.is(graph.get('u')?.dependents.size, 2);
});

test('an owner that is found not to exist leaves the graph, is remembered, and its dependents are enqueued', t => {
  const {graph, saw, calls} = watching();
  saw(object('a', [owner('o')]));
  calls();

  graph.missing(identity('o'));

  t.deepEqual(calls(), ['suspect Pod a']);
  t.is(graph.get('u'), undefined);
  t.true(graph.absent.has(identity('o')));
  graph.missing(identity('o'));
  t.deepEqual(calls(), []);
});

test('a deleted owner is remembered only if a dependent may refer to it', t => {
  const {graph, saw, lost} = watching();
  saw(anOwner('o'), ownerKind);
  lost(anOwner('o'), ownerKind);
  t.false(graph.absent.has(identity('o')));

  saw(anOwner('o'), ownerKind);
  saw(object('a', [owner('o')]));
  lost(anOwner('o'), ownerKind);

  t.true(graph.absent.has(identity('o')));
});

test('where dependents disagree on the identity of a uid, each is tried in turn', t => {
  const {graph, saw, calls} = watching();
  saw(object('a', [owner('o', {kind: 'B'})]));
  saw(object('b', [owner('o', {kind: 'C'})]));
  saw(object('c', [owner('o', {kind: 'A'})]));
  t.deepEqual(calls(), ['suspect B o', 'suspect Pod b', 'suspect Pod c']);

  graph.missing(identity('o', {kind: 'B'}));
  t.deepEqual(calls(), ['suspect Pod a', 'later C o']);
  t.true(graph.absent.has(identity('o', {kind: 'B'})));
  // An answer about another identity changes nothing except for its own dependents.
  graph.missing(identity('o', {kind: 'A'}));
  t.deepEqual(calls(), ['suspect Pod c']);
  t.is(graph.get('u')?.identity.kind, 'C');
  graph.missing(identity('o', {kind: 'C'}));
  t.deepEqual(calls(), ['suspect Pod b', 'later A o']);
});

test('an owner that is observed at last has its real identity, and dependents with another are checked', t => {
  const {graph, saw, calls} = watching();
  saw(object('wrong', [owner('o', {kind: 'Other'})]));
  saw(object('right', [owner('o')]));
  saw(object('far', [owner('o')], {namespace: elsewhere}));
  calls();

  saw(anOwner('o'), ownerKind);

  t.deepEqual(calls(), ['suspect Pod wrong', 'far strayed from o', 'suspect Pod far']);
  t.deepEqual([graph.get('u')?.identity, graph.get('u')?.virtual], [identity('o'), false]);
});

test('a dependent with wrong coordinates of an observed owner is checked', t => {
  const {saw, calls} = watching();
  saw(anOwner('o'), ownerKind);
  saw(object('right', [owner('o')]));
  t.deepEqual(calls(), []);

  saw(object('wrong', [owner('other')]));
  saw(object('far', [owner('o')], {namespace: elsewhere}));

  t.deepEqual(calls(), ['suspect Pod wrong', 'far strayed from o', 'suspect Pod far']);
});

test('an observed object does not leave the graph because a dependent named it elsewhere', t => {
  const {graph, saw, calls} = watching();
  saw(object('wrong', [owner('o', {kind: 'Other'})]));
  saw(anOwner('o'), ownerKind);
  saw(object('right', [owner('o')]));
  calls();

  graph.missing(identity('o', {kind: 'Other'}));
  t.deepEqual(calls(), ['suspect Pod wrong']);
  t.truthy(graph.get('u'));
  t.true(graph.absent.has(identity('o', {kind: 'Other'})));
  t.false(graph.absent.has(identity('o')));

  graph.missing(identity('o'));
  t.is(graph.get('u'), undefined);
});

const dying = (finalizer: string) => ({deletionTimestamp: now, finalizers: [finalizer]});

test('a deletion that begins with a finalizer of the collector is handled once, whichever event shows it', t => {
  const {graph, saw, changed, calls} = watching();
  saw(anOwner('o'), ownerKind);
  saw(object('a', [owner('o')]));
  changed(anOwner('o', dying('foregroundDeletion')), anOwner('o'), ownerKind);
  t.deepEqual(calls(), ['suspect Pod a', 'suspect Owner o']);
  changed(anOwner('o', {...dying('foregroundDeletion'), labels: {}}), anOwner('o', dying('foregroundDeletion')), ownerKind);
  t.deepEqual(calls(), []);

  changed(anOwner('o', dying('orphan')), anOwner('o', dying('foregroundDeletion')), ownerKind);
  t.deepEqual(calls(), ['orphan Owner o']);

  // It may be the first event of the object at all.
  const late = watching();
  late.changed(anOwner('o', dying('foregroundDeletion')), anOwner('o', dying('foregroundDeletion')), ownerKind);
  t.deepEqual(late.calls(), ['suspect Owner o']);
  t.true(late.graph.get('u')?.deletingDependents);
  t.true(graph.get('u')?.beingDeleted);
});

test('a waiting owner is enqueued when a dependent is deleted, drops the reference, or no longer blocks its deletion', t => {
  for (const leave of ['goes', 'parts', 'lets it'] as const) {
    const {saw, changed, lost, calls} = watching();
    saw(anOwner('o', dying('foregroundDeletion')), ownerKind);
    const child = object('a', [owner('o', {blockOwnerDeletion: true})]);
    saw(child);
    calls();
    if (leave === 'goes') lost(child);
    else changed(object('a', leave === 'parts' ? [] : [owner('o')]), child);

    t.deepEqual(calls(), ['suspect Owner o'], leave);
  }
});

test('an object that is served in another version keeps its identity', t => {
  const {graph, saw, changed} = watching();
  saw(anOwner('o'), ownerKind);
  saw(object('a', [owner('o')]));
  changed(anOwner('o', {resourceVersion: '2'}), anOwner('o'), {apiVersion: 'v2', kind: 'Owner'});

  t.deepEqual(graph.get('u')?.identity, identity('o', {apiVersion: 'v2'}));
  t.is(graph.get('u')?.dependents.size, 1);
});

test('a deleted object is no longer a dependent', t => {
  const {graph, saw, lost} = watching();
  saw(anOwner('o'), ownerKind);
  const child = object('a', [owner('o')]);
  saw(child);
  lost(child);

  t.is(graph.get('u')?.dependents.size, 0);
  t.deepEqual(
    [...graph.nodes].map(node => node.identity.name),
    ['o'],
  );
});

test('owners are compared by uid', t => {
  const [a, b, c] = ['a', 'b', 'c'].map(uid => owner(uid, {uid, blockOwnerDeletion: true})) as [Owner, Owner, Owner];
  const free = {...b, blockOwnerDeletion: false};
  const changes = ownerChanges([a, b], [free, c]);

  t.deepEqual(changes, {added: [c], removed: [a], changed: [{old: b, now: free}]});
  t.deepEqual(unblocked(changes), ['a', 'b']);
  t.deepEqual(unblocked(ownerChanges([free, c], [b])), ['c']);
  t.deepEqual(ownerChanges([a], [{...a}]), {added: [], removed: [], changed: []});
});

const holder = (name: string, owners: readonly Owner[], at = namespace): Node =>
  new Node({...pod, namespace: at, name, uid: name}, {owners});

test('versions are tried one after the other, and the first again after the last', t => {
  const holders = ['A', 'C', 'B'].map(kind => holder(kind, [owner('o', {kind}), owner('else', {kind, uid: 'v'})]));
  const nextAfter = (kind: string) => alternativeTo(identity('o', {kind}), holders)?.kind;

  t.deepEqual(['A', 'B', 'C', 'D'].map(nextAfter), ['B', 'C', 'A', 'A']);
  t.is(alternativeTo(identity('o'), [holder('a', [owner('o')])]), undefined);
});

test('a kind that was found to have no namespaces has none for anybody', t => {
  const absent = identity('o', {namespace: ''});
  t.is(alternativeTo(absent, [holder('a', [owner('o')], elsewhere)]), undefined);
  t.is(alternativeTo(absent, [holder('a', [owner('other')], elsewhere)])?.namespace, '');
  t.is(alternativeTo(absent, [holder('a', [owner('o', {kind: 'Other'})], elsewhere)])?.namespace, elsewhere);
  // A namespaced owner may be in the namespace of each dependent.
  t.is(alternativeTo(identity('o'), [holder('a', [owner('o')], elsewhere)])?.namespace, elsewhere);
});

test('an owner that waits pushes only dependents that are not on their way', async t => {
  const waiting = new Node(identity('o'));
  waiting.deletingDependents = true;
  for (const name of ['idle', 'going']) {
    const dependent = holder(name, [owner('o', {blockOwnerDeletion: true})]);
    dependent.beingDeleted = name === 'going';
    waiting.addDependent(dependent);
  }
  const pushed: string[] = [];
  const live = {get: () => Promise.resolve({metadata: {uid: 'u'}})} as unknown as Live;
  const collector = new Collector({
    graph: watching().graph,
    live,
    kinds: undefined as never,
    enqueue: node => pushed.push(node.identity.name),
  });

  t.is(await collector.process(waiting), 'done');
  t.deepEqual(pushed, ['idle']);
});

test('five hundred owners are remembered as absent', t => {
  const absent = new AbsentOwners();
  for (let index = 0; index <= 500; index++) absent.add(identity(`o${index}`));

  t.deepEqual(
    [0, 1, 500].map(index => absent.has(identity(`o${index}`))),
    [false, true, true],
  );
  t.false(absent.has(identity('o1', {namespace: elsewhere})));
});
