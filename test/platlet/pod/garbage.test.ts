import test from 'ava';
import {garbageOf, type GarbageLimits} from '#src/platlet/pod/garbage.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {aRun, aSandbox} from './objects.js';

const limits: GarbageLimits = {minAgeMs: 0, maxPerContainer: 1, maxContainers: -1};
const ended = (name: string, attempt: number, createdAt: number) => aRun(name, 0, {attempt, createdAt});

const aPod = (uid: string, containers: RuntimePod['containers'], sandboxes: RuntimePod['sandboxes'] = []): RuntimePod => ({
  pod: {uid, namespace: 'default', name: uid},
  containers,
  sandboxes,
});

const removed = (pods: readonly RuntimePod[], fields: Partial<GarbageLimits> = {}, gone: readonly string[] = [], now = 1_000): string => {
  const {containers, sandboxes} = garbageOf(pods, uid => (gone.includes(uid) ? 'gone' : 'present'), {...limits, ...fields}, now);
  return [...containers.map(({id}) => id), ...sandboxes].sort().join(' ');
};

test('of the ended runs of a container the newest stay', t => {
  const pod = aPod('a', [
    aRun('app', 'running', {attempt: 3, createdAt: 4}),
    ended('app', 2, 3),
    ended('app', 1, 2),
    ended('app', 0, 1),
    ended('other', 0, 1),
  ]);
  t.is(removed([pod]), 'app-0 app-1');
  t.is(removed([pod], {maxPerContainer: 2}), 'app-0');
  t.is(removed([pod], {maxPerContainer: 0}), 'app-0 app-1 app-2 other-0');
  t.is(removed([pod], {maxPerContainer: -1}), '');
});

test('what has ended a moment ago stays', t => {
  const pod = aPod('a', [ended('app', 1, 900), ended('app', 0, 100)]);
  t.is(removed([pod], {maxPerContainer: 0, minAgeMs: 500}), 'app-0');
});

test('of a pod that is gone nothing stays but what runs', t => {
  const pod = aPod('a', [aRun('app'), ended('other', 0, 1)], [aSandbox({isReady: false})]);
  t.is(removed([pod], {}, ['a']), 'other-0');
  t.is(removed([aPod('a', [ended('app', 0, 1)], [aSandbox({isReady: false})])], {}, ['a']), 'app-0 sandbox-0');
});

test('a node keeps only so many ended runs', t => {
  const pods = [aPod('a', [ended('a', 0, 1)]), aPod('b', [ended('b', 0, 3)]), aPod('c', [ended('c', 0, 2)])];
  t.is(removed(pods, {maxContainers: 1}), 'a-0 c-0');
});

test('each container keeps as many of them as others', t => {
  const busy = aPod(
    'busy',
    [4, 3, 2, 1].map(attempt => ended('busy', attempt, 10 + attempt)),
  );
  const calm = aPod('calm', [ended('calm', 1, 2), ended('calm', 0, 1)]);
  t.is(removed([busy, calm], {maxPerContainer: -1, maxContainers: 4}), 'busy-1 busy-2');
  t.is(removed([busy, calm], {maxPerContainer: -1, maxContainers: 6}), '');
});

test('sandboxes that have ended go once they are empty, but for the newest of a pod', t => {
  const sandboxes = [aSandbox({attempt: 2}), aSandbox({attempt: 1, isReady: false}), aSandbox({isReady: false})];
  t.is(removed([aPod('a', [], sandboxes)]), 'sandbox-0 sandbox-1');
  t.is(removed([aPod('a', [ended('app', 0, 1)], sandboxes)]), 'sandbox-1');
  t.is(removed([aPod('a', [], sandboxes.slice(1))]), 'sandbox-0');
});
