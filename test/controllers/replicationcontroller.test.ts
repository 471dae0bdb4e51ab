import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {aPlaneWith, aTemplate, actionsOn} from './workloads.js';

type ReplicationController = ObjectOf<typeof kinds.replicationControllers>;

const aController = (name: string, replicas: number): ReplicationController => ({
  metadata: {name},
  spec: {replicas, selector: {app: 'a'}, template: aTemplate()},
});

const startEnvironment = async () => {
  const plane = await aPlaneWith(['replicationcontroller-controller', 'replicaset-controller']);
  return {plane, ...actionsOn(plane)};
};

test('a replication controller keeps its pods, and counts them without terminating ones', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicationControllers, aController('web', 3));
  const [first, second] = await at.podsOf('web');
  await at.runs(first!);
  await at.remove(kinds.pods, second!.metadata!.name!);

  const {metadata, status} = await at.get(kinds.replicationControllers, 'web');
  t.deepEqual(status, {replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 1, availableReplicas: 1, observedGeneration: 1});
  t.deepEqual(first?.metadata?.ownerReferences, [
    {apiVersion: 'v1', kind: 'ReplicationController', name: 'web', uid: metadata!.uid!, controller: true, blockOwnerDeletion: true},
  ]);
  const [event] = await at.list(kinds.coreEvents);
  t.deepEqual(
    [event?.source?.component, event?.involvedObject.kind, event?.reason],
    ['replication-controller', 'ReplicationController', 'SuccessfulCreate'],
  );
});

test('a replication controller adopts an orphan, and leaves alone pods of a replica set', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.pods, {metadata: {name: 'orphan', labels: {app: 'a'}}, spec: aTemplate().spec!});
  await at.create(kinds.replicationControllers, aController('web', 1));
  await at.create(kinds.replicaSets, {
    metadata: {name: 'set'},
    spec: {replicas: 2, selector: {matchLabels: {app: 'a'}}, template: aTemplate()},
  });
  await at.patch(kinds.replicationControllers, 'web', {spec: {replicas: 2}});

  const names = (await at.podsOf('web')).map(({metadata}) => metadata?.name);
  t.deepEqual([names.length, names.includes('orphan')], [2, true]);
  t.is((await at.podsOf('set')).length, 2);
});
