import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {Pod, Toleration} from '#src/api/pod.js';
import {resolveIntOrPercent} from '#src/model/int-or-percent.js';
import {controllerOf, controllerRefTo, isControlledBy, sameController} from '#src/model/owners.js';
import {isActive, isAvailable, isReady, isTerminal, isTerminating, nextAvailability, readySince} from '#src/model/pod/state.js';
import {runSteps} from '#src/base/steps.js';
import {isTolerated, tolerationOf, untolerated} from '#src/model/taints.js';
import {toleratedSeconds} from '#controllers/taint-eviction/toleration.js';
import {templateHashInSteps} from '#src/model/template-hash.js';

const noon = Date.parse('2026-01-01T12:00:00Z');

const aPod = ({phase, deleted, ready, since}: {phase?: string; deleted?: boolean; ready?: string; since?: string} = {}): Pod => ({
  metadata: {name: 'a', ...(deleted ? {deletionTimestamp: '2026-01-01T11:00:00Z'} : {})},
  status: {
    ...(phase ? {phase} : {}),
    conditions: [
      {type: 'Initialized', status: 'True'},
      ...(ready ? [{type: 'Ready', status: ready, ...(since ? {lastTransitionTime: since} : {})}] : []),
    ],
  },
});

for (const [title, pod, active, terminating, terminal] of [
  ['a new pod', aPod(), true, false, false],
  ['a running pod', aPod({phase: 'Running'}), true, false, false],
  ['a running pod that is deleted', aPod({phase: 'Running', deleted: true}), false, true, false],
  ['a pod that succeeded', aPod({phase: 'Succeeded'}), false, false, true],
  ['a pod that failed', aPod({phase: 'Failed'}), false, false, true],
  ['a pod that failed and is deleted', aPod({phase: 'Failed', deleted: true}), false, false, true],
] as const) {
  test(`${title} is ${active ? '' : 'not '}active, ${terminating ? '' : 'not '}terminating, ${terminal ? '' : 'not '}over`, t => {
    t.deepEqual([isActive(pod), isTerminating(pod), isTerminal(pod)], [active, terminating, terminal]);
  });
}

for (const [title, pod, seconds, available] of [
  ['not ready', aPod({ready: 'False', since: '2026-01-01T11:00:00Z'}), 0, false],
  ['without the condition', aPod(), 0, false],
  ['ready, without minReadySeconds', aPod({ready: 'True'}), 0, true],
  ['ready for less than minReadySeconds', aPod({ready: 'True', since: '2026-01-01T11:59:51Z'}), 10, false],
  ['ready for exactly minReadySeconds', aPod({ready: 'True', since: '2026-01-01T11:59:50Z'}), 10, true],
  ['ready without saying since when', aPod({ready: 'True'}), 10, false],
] as const) {
  test(`a pod that is ${title} is ${available ? '' : 'not '}available`, t => t.is(isAvailable(pod, seconds, noon), available));
}

test('a pod is ready since its condition turned, and not otherwise', t => {
  t.is(readySince(aPod({ready: 'True', since: '2026-01-01T12:00:00Z'})), noon);
  t.is(readySince(aPod({ready: 'Unknown', since: '2026-01-01T12:00:00Z'})), undefined);
  t.false(isReady(aPod({ready: 'Unknown'})));
});

test('the next pod to become available is the one that has been ready longest but not for long enough', t => {
  const pods = ['11:59:40', '11:59:55', '11:59:58'].map(time => aPod({ready: 'True', since: `2026-01-01T${time}Z`}));

  t.is(nextAvailability([...pods, aPod()], 10, noon), 5_000);
  t.is(nextAvailability([pods[0]!, aPod({ready: 'True'})], 10, noon), undefined);
});

for (const [value, total, up, down] of [
  [3, 10, 3, 3],
  [0, 10, 0, 0],
  ['25%', 10, 3, 2],
  ['25%', 8, 2, 2],
  ['1%', 1, 1, 0],
  ['0%', 7, 0, 0],
  ['100%', 7, 7, 7],
  ['150%', 4, 6, 6],
  ['29%', 100, 29, 29],
] as const) {
  test(`${value} of ${total} is ${up} rounded up and ${down} rounded down`, t => {
    t.deepEqual([resolveIntOrPercent(value, total, 'up'), resolveIntOrPercent(value, total, 'down')], [up, down]);
  });
}

test('a text that is no share of a whole is refused', t => {
  for (const value of ['', '5', 'x%', '-5%', '1.5%']) {
    t.throws(
      () => resolveIntOrPercent(value, 10, 'up'),
      {message: 'invalid value for IntOrString: invalid type: string is not a percentage'},
      value,
    );
  }
});

test('the controller of an object is the one owner reference with that field, compared by UID', t => {
  const parent = {metadata: {namespace: 'x', name: 'parent', uid: '1'}};
  const reference = controllerRefTo(parent, kinds.replicaSets, naming('plat'));
  const child = {metadata: {ownerReferences: [{apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: '0'}, reference]}};

  t.deepEqual(reference, {apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'parent', uid: '1', controller: true, blockOwnerDeletion: true});
  t.is(controllerOf(child), reference);
  t.true(isControlledBy(child, parent));
  t.false(isControlledBy(child, {metadata: {...parent.metadata, uid: '2'}}));
  t.false(isControlledBy({metadata: {}}, {metadata: {}}));
  t.true(sameController(child, {metadata: {ownerReferences: [{...reference}]}}));
  t.false(sameController(child, {metadata: {ownerReferences: [{...reference, uid: '2'}]}}));
  t.false(sameController(child, {metadata: {}}));
  t.true(sameController({}, {metadata: {ownerReferences: []}}));
});

const hashOf = (content: unknown, collisionCount?: number): string => runSteps(templateHashInSteps(content, collisionCount));

test('the hash of a template does not depend on the order of fields nor on fields without a value, and spells no words', t => {
  const template = {metadata: {labels: {a: '1', b: '2'}}, spec: {containers: [{name: 'c', image: 'i'}]}};
  const hash = hashOf(template);

  t.regex(hash, /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  t.is(hashOf({spec: {containers: [{image: 'i', name: 'c', command: undefined}]}, metadata: {labels: {b: '2', a: '1'}}}), hash);
  t.not(hashOf({...template, spec: {containers: [{name: 'c', image: 'j'}]}}), hash);
});

test('a collision count makes another hash', t => {
  const hashes = [undefined, 0, 1, 2].map(count => hashOf({a: 1}, count));

  t.is(new Set(hashes).size, 4);
});

/** Tolerations or taints of different keys that count how often they are looked at. */
const counted = (count: number, fields: object) => {
  const seen = {reads: 0};
  const items = Array.from({length: count}, (_, i) => ({
    ...fields,
    get key() {
      seen.reads++;
      return `k${i}`;
    },
  }));
  return {seen, items};
};

test('many taints are compared with many tolerations without comparing each with each', t => {
  const count = 2000;
  const tolerations = counted(count, {operator: 'Exists'});
  const taints = counted(count, {effect: 'NoExecute'});

  t.is(untolerated(taints.items as never, tolerations.items as never, 'NoExecute'), undefined);
  t.is(toleratedSeconds(taints.items as never, tolerations.items as never), Infinity);
  t.true(tolerations.seen.reads + taints.seen.reads < 20 * count);
});

test('of many tolerations the first that fits a taint counts, as of few', t => {
  const of = (key: string, value: string, rest: object = {}) => ({key, operator: 'Equal', value, ...rest});
  const some: Toleration[] = [
    of('a', '1', {effect: 'NoSchedule'}),
    of('a', '1', {effect: 'NoExecute', tolerationSeconds: 5}),
    of('a', '1', {effect: 'NoExecute', tolerationSeconds: 7}),
    {operator: 'Exists', effect: 'PreferNoSchedule'},
    of('b', '2'),
    {key: 'n', operator: 'Gt', value: '3'},
    {key: 'n', operator: 'Lt', value: '3'},
    {operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1},
    of('b', '3', {effect: 'NoExecute', tolerationSeconds: 9}),
  ];
  const orders = [some, some.toReversed(), [...some.slice(4), ...some.slice(0, 4)]];
  const others = Array.from({length: 20}, (_, i) => of(`other-${i}`, ''));

  for (const tolerations of orders)
    for (const key of ['a', 'b', 'c', 'n'])
      for (const value of ['', '1', '2', '3', '4'])
        for (const effect of ['NoSchedule', 'NoExecute', 'PreferNoSchedule']) {
          const taint = {key, value, effect};
          const few = tolerations.find(one => isTolerated(taint, [one]));
          t.is(tolerationOf(taint, [...others, ...tolerations]), few, JSON.stringify(taint));
        }
});
