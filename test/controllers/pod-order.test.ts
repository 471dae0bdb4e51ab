import test from 'ava';
import {podsToDelete, ranksByNode} from '#controllers/shared/replicas/deletion-order.js';
import {servicesOfPodChange, type Service} from '#controllers/shared/endpoints/services.js';
import {Cache} from '#informers/cache.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {runSteps} from '#src/base/steps.js';
import {ago, aPod, container, namespace, noon, plat} from './children.js';

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
  metadata: {
    name: 'p',
    uid,
    creationTimestamp: ago(age),
    ...(cost === undefined ? {} : {annotations: {[plat.subKey('controller', 'pod-deletion-cost')]: cost}}),
  },
  spec: {
    containers: [container],
    initContainers: [
      {...container, name: 'side', restartPolicy: 'Always'},
      {...container, name: 'init'},
    ],
    ...(node ? {nodeName: node} : {}),
  },
  status: {
    phase,
    conditions:
      ready === undefined ? [] : [{type: 'Ready', status: 'True', ...(ready === 'untimed' ? {} : {lastTransitionTime: ago(ready)})}],
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
  runSteps(cache.replacing([{metadata: {namespace, name: 'web', uid: 'u'}, spec: {selector: {app: 'a'}}}]));
  const old = aPod('p');
  const bound: Pod = {...old, spec: {...old.spec!, nodeName: 'n'}};
  const addressed: Pod = {...bound, status: {podIPs: [{ip: '10.0.0.1'}]}};
  const concerned = (before: Pod, after: Pod) =>
    servicesOfPodChange({type: 'updated', old: before, object: after}, cache).map(({name}) => name);

  t.deepEqual(concerned(old, bound), []);
  t.deepEqual(concerned(bound, addressed), ['web']);
  t.deepEqual(concerned(addressed, {...addressed, status: {...addressed.status, conditions: [{type: 'Ready', status: 'True'}]}}), ['web']);
});

test('the rank of a pod is how many active pods share its node', t => {
  const rankOf = ranksByNode([shaped({node: 'a'}), shaped({node: 'a'}), shaped({node: 'a', phase: 'Failed'}), shaped({node: 'b'})]);

  t.deepEqual(
    ['a', 'b', 'c'].map(node => rankOf(shaped({node}))),
    [2, 1, 0],
  );
});
