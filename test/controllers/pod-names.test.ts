import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {alreadyExists, conflict, notFound, statusError} from '#src/api/status.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Lister} from '#informers/lister.js';
import {podNames, type PlannedPod} from '#controllers/shared/pods/pod-names.js';

const parent = {metadata: {namespace: 'default', name: 'web', uid: 'u'}};

const namesOver = () => {
  const clock = new VirtualClock();
  const cached = new Set<string>();
  const lister = {get: ({name}: {name: string}) => (cached.has(name) ? {} : undefined)} as unknown as Lister<Pod>;
  return {clock, cached, names: podNames(lister, clock, seededRandom(1))};
};

const named = (pods: readonly PlannedPod[]): readonly string[] => pods.map(({name}) => name);
const lost = new Error('connection reset by peer');

test('names are generated from the prefix of the parent, or of the pod, and none is taken', t => {
  const {names} = namesOver();
  const planned = named(names.plan(parent, [{}, {}, {slot: '3', generateName: 'web-3-'}]));

  t.regex(planned[0]!, /^web-[a-z0-9]{5}$/);
  t.regex(planned[2]!, /^web-3-[a-z0-9]{5}$/);
  t.is(new Set(planned).size, 3);
});

test('the name of a creation whose outcome is unknown is used again, once, for the same place', t => {
  const {names} = namesOver();
  const [one, other] = names.plan(parent, [{slot: 'a'}, {slot: 'b'}]) as [PlannedPod, PlannedPod];
  const [first, second] = [one.name, other.name];
  names.notCreated(parent, one, lost);
  names.notCreated(parent, other, statusError('Timeout', 'too late'));

  const planned = named(names.plan(parent, [{slot: 'c'}, {slot: 'b'}, {slot: 'a'}, {slot: 'a'}]));

  t.deepEqual([planned[1], planned[2]], [second, first]);
  t.false([first, second].includes(planned[0]!) || [first, second].includes(planned[3]!));
  t.not(names.plan(parent, [{slot: 'a'}])[0]!.name, first);
});

test('a name whose creation may take effect is kept when its repetition is refused or not attempted, until it turns out to be of another pod', t => {
  const {names} = namesOver();
  const plan = (): PlannedPod => names.plan(parent, [{}])[0]!;
  const first = plan();
  names.notCreated(parent, first, lost);
  const ref = {group: '', resource: 'pods'};
  for (const error of [statusError('TooManyRequests', 'later'), undefined, alreadyExists(ref, first.name)]) {
    const again = plan();
    t.is(again.name, first.name);
    names.notCreated(parent, again, error);
  }
  t.not(plan().name, first.name);

  const skipped = plan();
  names.notCreated(parent, skipped);
  t.not(plan().name, skipped.name);
});

test('a name is not used again once the pod is in the cache, or after a refusal, or by another parent, or five minutes later', async t => {
  const {names, clock, cached} = namesOver();
  const attempt = (error: unknown): string => {
    const [pod] = names.plan(parent, [{}]) as [PlannedPod];
    names.notCreated(parent, pod, error);
    return pod.name;
  };
  const seen = attempt(lost);
  cached.add(seen);
  t.not(names.plan(parent, [{}])[0]!.name, seen);

  const ref = {group: '', resource: 'pods'};
  for (const refusal of [conflict(ref, 'x', 'no'), notFound(ref, 'x'), statusError('TooManyRequests', 'later')])
    t.not(attempt(refusal), names.plan(parent, [{}])[0]!.name);

  const open = attempt(lost);
  t.not(names.plan({metadata: {...parent.metadata, uid: 'v'}}, [{}])[0]!.name, open);
  await clock.advance(300_001);
  t.not(names.plan(parent, [{}])[0]!.name, open);
});
