import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {PodSpec} from '#src/api/pod.js';
import {namespace, startWith, why} from './context.js';

test('a limit range fills in the missing resources of containers and records it in an annotation', async t => {
  const {of, pod} = await startWith('LimitRanger');
  await of(kinds.limitRanges).create({
    metadata: {name: 'l', namespace},
    spec: {limits: [{type: 'Container', default: {cpu: '2', memory: '1Gi'}, defaultRequest: {cpu: '1', memory: '1Gi'}}]},
  } as never);
  const {spec, metadata} = await pod();

  t.deepEqual(spec!.containers[0]!.resources, {limits: {cpu: '2', memory: '1Gi'}, requests: {cpu: '1', memory: '1Gi'}});
  t.is(
    metadata!.annotations!['plat.io/limit-ranger'],
    'LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c',
  );
});

const limited: readonly [string, object, Partial<PodSpec>, string][] = [
  ['no request', {type: 'Pod', min: {cpu: '1'}}, {}, 'minimum cpu usage per Pod is 1.  No request is specified'],
  [
    'a small request',
    {type: 'Container', min: {cpu: '1'}},
    {containers: [{name: 'c', image: 'i', resources: {requests: {cpu: '100m'}}}]},
    'minimum cpu usage per Container is 1, but request is 100m',
  ],
  ['no limit', {type: 'Pod', max: {cpu: '1'}}, {}, 'maximum cpu usage per Pod is 1.  No limit is specified'],
  [
    'a sum',
    {type: 'Pod', max: {cpu: '1'}},
    {containers: ['a', 'b'].map(name => ({name, image: 'i', resources: {limits: {cpu: '600m'}}}))},
    'maximum cpu usage per Pod is 1, but limit is 1200m',
  ],
  [
    'two at once',
    {type: 'Container', max: {cpu: '1', memory: '1Gi'}},
    {containers: [{name: 'c', image: 'i', resources: {limits: {cpu: '2', memory: '2Gi'}, requests: {cpu: '1', memory: '1Gi'}}}]},
    '[maximum cpu usage per Container is 1, but limit is 2, maximum memory usage per Container is 1Gi, but limit is 2Gi]',
  ],
  [
    'a ratio',
    {type: 'Container', maxLimitRequestRatio: {cpu: '2'}},
    {containers: [{name: 'c', image: 'i', resources: {limits: {cpu: '3'}, requests: {cpu: '1'}}}]},
    'cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000',
  ],
];
for (const [title, limit, spec, expected] of limited) {
  test(`a limit range refuses ${title}`, async t => {
    const {of, pod} = await startWith('LimitRanger');
    await of(kinds.limitRanges).create({metadata: {name: 'l', namespace}, spec: {limits: [limit]}} as never);

    t.is(await why(pod(spec)), expected);
  });
}

const manyLimits = (count: number, type = 'Container', field = 'maxLimitRequestRatio') => ({
  metadata: {name: 'l', namespace},
  spec: {limits: [{type, [field]: Object.fromEntries(Array.from({length: count}, (_, index) => [`example.com/r-${index}`, '1']))}]},
});
const containersOf = (count: number): Partial<PodSpec> => ({
  containers: Array.from({length: count}, (_, index) => ({name: `c-${index}`, image: 'i'})),
});

for (const [containers, limits, expected] of [
  [1, 100, 0],
  [1, 9000, 1],
  [100, 100, 1],
] as const) {
  test(`a pod of ${containers} containers is ${expected ? '' : 'not '}moved to the request thread for ${limits} limits`, async t => {
    let moved = 0;
    const answer = () => Promise.resolve(void moved++);
    const {of, pod} = await startWith('LimitRanger', {}, {largeRequests: {answer}});
    await of(kinds.limitRanges).create(manyLimits(limits) as never);
    moved = 0;

    t.regex((await why(pod(containersOf(containers))))!, /max limit to request ratio per Container is 1/);
    t.is(moved, expected);
  });
}

for (const field of ['default', 'min', 'maxLimitRequestRatio'])
  test(`a pod is refused if too many values of ${field} would be compared with its containers`, async t => {
    const {of, pod} = await startWith('LimitRanger');
    await of(kinds.limitRanges).create(manyLimits(1001, 'Container', field) as never);
    const values = field === 'maxLimitRequestRatio' ? 1001 : 2 * 1001; // Requests have defaults, too.

    t.is(
      await why(pod(containersOf(200))),
      `its containers would be compared with limit ranges ${values * 200} times, at most 200000 are possible`,
    );
  });
