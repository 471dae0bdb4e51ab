import test from 'ava';
import {
  byRevision,
  createRevision,
  newRevision,
  nextRevision,
  renumbered,
  revisionsOf,
  surplusRevisions,
  templatePatch,
  withRevision,
  type ControllerRevision,
  type RevisionOf,
} from '#controllers/shared/children/revisions.js';
import {runSteps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {kinds} from '#src/api/kinds/index.js';
import {selectorForLabels} from '#src/api/selectors/label-selector.js';
import {controllerRefTo} from '#src/model/owners.js';
import {ago, aPod, cacheOf, environmentOf, namespace, ownersOf, plat, quiet, template} from './children.js';

const pieces = new Yielder(new VirtualClock());
const made = (of: RevisionOf): ControllerRevision => runSteps(newRevision(of));
const aParent = {metadata: {namespace, name: 'parent', uid: '1', annotations: {note: 'x'}}};
const history = {parent: aParent, kind: kinds.statefulSets, labels: {app: 'a'}, patch: runSteps(templatePatch(template)), naming: plat};

test('a revision is named after parent and content, and carries labels, hash, annotations and owner', t => {
  const revision = made({...history, revision: 3});
  const hash = revision.metadata!.labels![plat.subKey('controller', 'hash')]!;

  t.is(revision.metadata?.name, `parent-${hash}`);
  t.deepEqual(
    [revision.metadata?.labels?.['app'], revision.metadata?.annotations, ownersOf(revision), revision.revision],
    ['a', {note: 'x'}, ['parent*'], 3],
  );
  t.not(made({...history, revision: 3, collisionCount: 1}).metadata?.name, revision.metadata?.name);
  t.is(made({...history, parent: {metadata: {name: 'p'.repeat(250)}}, revision: 1}).metadata!.name!.lastIndexOf('-'), 223);
});

for (const [title, hash, app, annotations, container] of [
  ['of a plain template', '549f7bd4bd', 'st', undefined, {image: 'i', name: 'c'}],
  ['with characters that JSON in Go escapes', '5d75bf86c7', 'esc', {note: 'é\u2028<x>'}, {image: 'i', name: 'c', args: ['a<b&c>d']}],
] as const)
  test(`a revision ${title} has the hash that the original gives it`, t => {
    const spec = {
      containers: [
        {
          ...container,
          args: 'args' in container ? [...container.args] : undefined,
          imagePullPolicy: 'Always',
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        },
      ],
      dnsPolicy: 'ClusterFirst',
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      securityContext: {},
      terminationGracePeriodSeconds: 30,
    };
    const recorded = JSON.parse(JSON.stringify({metadata: {annotations, labels: {app}}, spec})) as typeof template;
    const {metadata} = made({...history, patch: runSteps(templatePatch(recorded)), revision: 1, collisionCount: 0});

    t.is(metadata?.name, `parent-${hash}`);
  });

test('a revision is written with its keys in order, as clients write it that compare the bytes', t => {
  const {data, text} = runSteps(
    templatePatch({
      spec: {containers: [{name: 'a', image: 'x', resources: {}}], dnsPolicy: 'Default'},
      metadata: {labels: {b: '1', a: '2'}},
    }),
  );

  t.is(
    text,
    '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"2","b":"1"}},"spec":{"containers":[{"image":"x","name":"a","resources":{}}],"dnsPolicy":"Default"}}}}',
  );
  t.is(JSON.stringify(data), text);
});

test('revisions are in order of number, age and name, and the next one follows the highest', t => {
  const revision = (number: number, name: string, age: number): ControllerRevision => ({
    metadata: {name, creationTimestamp: ago(age)},
    revision: number,
  });
  const revisions = [revision(2, 'c', 5), revision(1, 'b', 5), revision(1, 'a', 5), revision(1, 'z', 9)];

  t.deepEqual(
    revisions.sort(byRevision).map(({metadata}) => metadata?.name),
    ['z', 'a', 'b', 'c'],
  );
  t.is(nextRevision(revisions), 3);
  t.is(nextRevision([]), 1);
});

test('beyond the limit the oldest idle revisions go, never one in use', t => {
  const revisions = [1, 2, 3, 4, 5].map(revision => ({revision}));
  const surplus = (limit: number) =>
    surplusRevisions(revisions, limit, ({revision}) => revision === 2 || revision === 5).map(({revision}) => revision);

  t.deepEqual([surplus(3), surplus(2), surplus(1), surplus(0)], [[], [1], [1, 3], [1, 3, 4]]);
});

test('a revision brings back the template it was made of', async t => {
  await using plane = await quiet();
  const {revision} = await createRevision(plane.client(), {...history, revision: 1}, pieces);
  const other = {metadata: {name: 'parent'}, spec: {replicas: 4, template: {metadata: {labels: {app: 'b'}}, spec: {containers: []}}}};

  t.deepEqual(withRevision(other, revision), {metadata: {name: 'parent'}, spec: {replicas: 4, template}});
});

test('a revision that is there already is taken, and where another has its name the collision count makes a new one', async t => {
  await using plane = await quiet();
  const client = plane.client();
  const resource = client.resource(kinds.controllerRevisions);
  const {revision: first, collisionCount} = await createRevision(client, {...history, revision: 1}, pieces);
  t.is((await createRevision(client, {...history, revision: 2}, pieces)).revision.metadata?.uid, first.metadata?.uid);
  t.is(collisionCount, 0);

  await resource.delete(first.metadata!.name!, {namespace});
  await resource.create({metadata: {namespace, name: first.metadata!.name!}, data: {other: true}, revision: 1});
  const again = await createRevision(client, {...history, revision: 2}, pieces);

  t.is(again.collisionCount, 1);
  t.not(again.revision.metadata?.name, first.metadata?.name);
});

test('a revision gets its new number in spite of changes meanwhile', async t => {
  await using plane = await quiet();
  const client = plane.client();
  const {revision} = await createRevision(client, {...history, revision: 1}, pieces);
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
  const cache = cacheOf([
    revision('c', 3, {}),
    revision('a', 1, {ownerReferences: []}),
    revision('b', 2, {labels: {app: 'b'}}),
    revision('d', 4, {ownerReferences: foreign}),
  ]);

  t.deepEqual(
    revisionsOf(cache, aParent, selectorForLabels({app: 'a'})).map(({metadata}) => metadata?.name),
    ['a', 'c'],
  );
});

test('the failures of several children are one error', async t => {
  await using plane = await quiet();
  const {claim, pods, parent, selector} = await environmentOf(plane);
  const orphans = [await pods.create(aPod('a')), await pods.create(aPod('b'))];
  const stale = {...parent, metadata: {...parent.metadata, name: 'gone'}};

  const error = await t.throwsAsync(claim(stale, orphans, {selector}));
  t.regex(error.message, /^\[can't adopt Pod default\/a .*, can't adopt Pod default\/b .*\]$/);
});
