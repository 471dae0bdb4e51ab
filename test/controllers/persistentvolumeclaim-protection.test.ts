import test from 'ava';
import {releasedClaims, uses} from '#controllers/persistentvolumeclaim-protection/uses.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {aPlaneWith, aTemplate, actionsOn, namespace} from './workloads.js';

const byName: Partial<PodSpec> = {volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'c'}}]};
const ofItsOwn: Partial<PodSpec> = {volumes: [{name: 'v', ephemeral: {volumeClaimTemplate: {spec: {}}}}]};
const aPod = (spec: Partial<PodSpec>, metadata: Pod['metadata'] = {}, status: Pod['status'] = {}): Pod => ({
  metadata: {namespace, name: 'p', uid: 'u', ...metadata},
  spec: {containers: [], nodeName: 'n', ...spec},
  status,
});
const claim = {metadata: {namespace, name: 'c'}};
const owned = {
  metadata: {namespace, name: 'p-v', ownerReferences: [{apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true}]},
};

const cases: readonly [title: string, pod: Pod, claim: object, outcome: boolean][] = [
  ['a pod on a node uses the claims it names', aPod(byName), claim, true],
  ['one without a node does not', aPod({...byName, nodeName: ''}), claim, false],
  ['one that has ended still does', aPod(byName, {}, {phase: 'Succeeded'}), claim, true],
  ['one that names others does not', aPod({volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'other'}}]}), claim, false],
  ['a pod uses the claim made for its volume', aPod(ofItsOwn), owned, true],
  ["but not one of that name that is somebody else's", aPod(ofItsOwn, {uid: 'another'}), owned, false],
  ['nor once it was shut down', aPod(ofItsOwn, {deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0}), owned, false],
];
for (const [title, pod, of, outcome] of cases) test(title, t => t.is(uses(pod, of), outcome));

test('claims are looked at again when a pod has gone, has ended, was never placed, or was replaced', t => {
  const key = {namespace, name: 'c'};
  t.deepEqual(releasedClaims({type: 'deleted', object: aPod(byName), tombstone: false}), [key]);
  t.deepEqual(releasedClaims({type: 'added', object: aPod(byName), initial: false}), []);
  t.deepEqual(releasedClaims({type: 'updated', object: aPod(byName, {}, {phase: 'Failed'}), old: aPod(byName)}), [key]);
  t.deepEqual(releasedClaims({type: 'updated', object: aPod({}, {uid: 'next'}), old: aPod(byName)}), [key]);
});

const start = async (...controllers: readonly string[]) => {
  const plane = await aPlaneWith(['persistentvolumeclaim-protection-controller', ...controllers]);
  const at = actionsOn(plane);
  return {
    ...at,
    plane,
    claim: (name: string) =>
      at.create(kinds.persistentVolumeClaims, {
        metadata: {name},
        spec: {accessModes: ['ReadWriteOnce'], storageClassName: '', resources: {requests: {storage: '1Gi'}}},
      }),
    isThere: (name: string) =>
      at.get(kinds.persistentVolumeClaims, name).then(
        () => true,
        (error: unknown) => (isNotFound(error) ? false : Promise.reject(error as Error)),
      ),
  };
};

test('claims in use stay until their pods are gone; unused ones are deleted', async t => {
  const at = await start();
  await using _ = at.plane;
  for (const name of ['used', 'waiting', 'unused']) await at.claim(name);
  const spec = (claimName: string, nodeName?: string): PodSpec => ({
    ...aTemplate().spec!,
    volumes: [{name: 'v', persistentVolumeClaim: {claimName}}],
    ...(nodeName ? {nodeName} : {}),
  });
  await at.create(kinds.pods, {metadata: {name: 'placed'}, spec: spec('used', 'n')});
  await at.create(kinds.pods, {metadata: {name: 'unplaced'}, spec: spec('waiting')});
  for (const name of ['used', 'waiting', 'unused']) await at.remove(kinds.persistentVolumeClaims, name);
  t.deepEqual([await at.isThere('used'), await at.isThere('waiting'), await at.isThere('unused')], [true, false, false]);

  await at.runs('placed', {phase: 'Succeeded', ready: false});
  t.true(await at.isThere('used'));
  await at.remove(kinds.pods, 'placed', {gracePeriodSeconds: 0});
  t.false(await at.isThere('used'));
});

test('a namespace that holds a claim can go', async t => {
  const at = await start('namespace-controller');
  await using _ = at.plane;
  await at.client.resource(kinds.namespaces).create({metadata: {name: 'doomed'}});
  await at.create(kinds.persistentVolumeClaims, {
    metadata: {name: 'c', namespace: 'doomed'},
    spec: {accessModes: ['ReadWriteOnce'], storageClassName: '', resources: {requests: {storage: '1Gi'}}},
  });
  await at.client.resource(kinds.namespaces).delete('doomed');
  await at.clock.advance(60_000);

  t.true(isNotFound(await t.throwsAsync(at.client.resource(kinds.namespaces).get('doomed'))));
});
