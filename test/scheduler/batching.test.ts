// Pods that are alike, scheduled one after another against a real API server (KEP-5598).
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {PodSpec} from '#src/api/pod.js';
import {settingsOf} from '#src/scheduler/configuration/settings.js';
import type {Filter} from '#src/scheduler/framework/plugin.js';
import type {Profile} from '#src/scheduler/profile.js';
import {aCluster} from './cluster.js';
import {aNode, aPod} from './objects.js';
import {aSecond} from './second-scheduler.js';

const withoutSpreading = {name: 'PodTopologySpread', args: {defaultingType: 'List'}};

const profilesOf = (...profiles: object[]): ReadonlyMap<string, Profile> =>
  settingsOf({apiVersion: 'platscheduler.config.plat.io/v1', kind: 'PlatSchedulerConfiguration', profiles}).profiles;

const signing = profilesOf({schedulerName: 'mine', pluginConfig: [withoutSpreading]}).get('mine')!;

/** A filter of somebody else, which takes the name of a plugin. */
const foreign = (more: Partial<Filter>): Filter => ({plugin: 'NodeName', prepare: () => undefined, hints: [], ...more});

const profiles: ReadonlyMap<string, Profile> = new Map([
  ['mine', signing],
  ['mysched', signing],
  ['nosign', {...signing, filters: [...signing.filters, foreign({})]}],
  ['emptysign', {...signing, filters: [...signing.filters, foreign({sign: {refuses: () => true, fragments: []}})]}],
]);

/** A pod that prefers these nodes, the first most. */
const preferring = (name: string, nodes: readonly string[], more: Partial<PodSpec> = {}) =>
  aPod(name, {
    cpu: '10m',
    schedulerName: 'mine',
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: nodes.map((node, at) => ({
          weight: nodes.length - at,
          preference: {matchFields: [{key: 'metadata.name', operator: 'In', values: [node]}]},
        })),
      },
    },
    ...more,
  });

const nodesWithRoom = (pods: number, ...names: string[]) => names.map(name => aNode(name, {pods: String(pods)}));

/** The series that a second scheduler counted. */
const countsOf = ({meter}: Awaited<ReturnType<typeof aSecond>>, profile = 'mine') => {
  const nonZero = (name: string, label: string, values: readonly string[]) =>
    Object.fromEntries(
      values.flatMap(value => {
        const count = meter.value(name, {profile, [label]: value}) ?? 0;
        return count > 0 ? [[value, count]] : [];
      }),
    );
  return {
    attempts: nonZero('scheduler_batch_attempts_total', 'result', ['no_hint', 'hint_used', 'hint_not_used']),
    flushes: nonZero('scheduler_batch_cache_flushed_total', 'reason', [
      'pod_failed',
      'pod_skipped',
      'node_missing',
      'node_not_full',
      'empty_list',
      'expired',
      'pod_incompatible',
      'pod_not_batchable',
    ]),
  };
};

const off = ['DRAExtendedResource'];

type Step = readonly [name: string, node: string | undefined, isBatched: boolean, preferred: readonly string[], more?: Partial<PodSpec>];

const n123 = ['n1', 'n2', 'n3'];
const n12 = ['n1', 'n2'];
const n43 = ['n4', 'n3'];
const labelled = (at: number) => aNode(`n${at}`, {pods: '10', labels: {forpod: String(at)}});

for (const [title, nodes, steps] of [
  ['one pod one node', nodesWithRoom(1, 'n1'), [['p1', 'n1', false, []]]],
  [
    'distinct pods on distinct nodes',
    [labelled(3), labelled(2), labelled(1)],
    [
      ['p1', 'n1', false, [], {nodeSelector: {forpod: '1'}}],
      ['p2', 'n2', false, [], {nodeSelector: {forpod: '2'}}],
      ['p3', 'n3', false, [], {nodeSelector: {forpod: '3'}}],
    ],
  ],
  [
    'three pod batch',
    nodesWithRoom(1, 'n3', 'n2', 'n1'),
    [
      ['p1', 'n1', false, n123],
      ['p2', 'n2', true, n123],
      ['p3', 'n3', true, n123],
    ],
  ],
  [
    'two consecutive batches',
    nodesWithRoom(1, 'n4', 'n3', 'n2', 'n1'),
    [
      ['p1', 'n1', false, n12],
      ['p2', 'n2', true, n12],
      ['p3', 'n4', false, n43],
      ['p4', 'n3', true, n43],
    ],
  ],
  [
    'multiple pods per node means no batching',
    nodesWithRoom(2, 'n4', 'n3', 'n2', 'n1'),
    [
      ['p1', 'n1', false, n12],
      ['p2', 'n1', false, n12],
      ['p3', 'n4', false, n43],
      ['p4', 'n4', false, n43],
    ],
  ],
  [
    'no batching between schedulers',
    nodesWithRoom(1, 'n3', 'n2', 'n1'),
    [
      ['p1', 'n1', false, n123],
      ['p2', 'n2', false, n123, {schedulerName: 'mysched'}],
    ],
  ],
  [
    'no batching missing sign',
    nodesWithRoom(1, 'n3', 'n2', 'n1'),
    [
      ['p1', 'n1', false, n123, {schedulerName: 'nosign'}],
      ['p2', 'n2', false, n123, {schedulerName: 'nosign'}],
    ],
  ],
  [
    'no batching empty sign',
    nodesWithRoom(1, 'n3', 'n2', 'n1'),
    [
      ['p1', 'n1', false, n123, {schedulerName: 'emptysign'}],
      ['p2', 'n2', false, n123, {schedulerName: 'emptysign'}],
    ],
  ],
  [
    'unschedulable pod',
    nodesWithRoom(1, 'n1'),
    [
      ['p1', 'n1', false, []],
      ['p2', undefined, false, []],
    ],
  ],
] as const satisfies readonly (readonly [string, readonly ReturnType<typeof aNode>[], readonly Step[]])[]) {
  test(`pods that are alike take the nodes left over: ${title}`, async t => {
    await using cluster = await aCluster(...nodes);
    await using second = await aSecond(cluster, {profiles, off});
    const used = () => [...profiles.keys()].reduce((sum, name) => sum + Number(countsOf(second, name).attempts['hint_used'] ?? 0), 0);

    for (const [name, node, isBatched, preferred, more] of steps as readonly Step[]) {
      const before = used();
      await cluster.create(preferring(name, preferred, more));
      t.is(await cluster.nodeOf(name), node, name);
      t.is(used() > before, isBatched, name);
    }
  });
}

test('a pod takes the hint that a pod before it left, and leaves the rest of the nodes to the next', async t => {
  await using cluster = await aCluster(...nodesWithRoom(1, 'n1', 'n2', 'n3', 'n4'));
  await using second = await aSecond(cluster, {profiles, off});

  await cluster.create(...['p1', 'p2', 'p3', 'p4'].map(name => preferring(name, ['n2', 'n4', 'n1', 'n3'])));

  t.deepEqual(await Promise.all(['p1', 'p2', 'p3', 'p4'].map(name => cluster.nodeOf(name))), ['n2', 'n4', 'n1', 'n3']);
  t.deepEqual(countsOf(second), {attempts: {no_hint: 1, hint_used: 3}, flushes: {}});
  const count = (name: string, labels = {}) => second.meter.value(name, {profile: 'mine', ...labels});
  t.is(count('scheduler_get_node_hint_duration_seconds', {hinted: 'hint'}), 3);
  t.is(count('scheduler_get_node_hint_duration_seconds', {hinted: 'no_hint'}), 1);
  t.is(count('scheduler_store_schedule_results_duration_seconds'), 4);
});

const twoAlike = [preferring('p1', n123), preferring('p2', n123)] as const;

test('a node that was filled meanwhile is not taken by its hint', async t => {
  await using cluster = await aCluster(...nodesWithRoom(1, ...n123));
  await using second = await aSecond(cluster, {profiles, off});
  await cluster.create(twoAlike[0]);

  await cluster.create(aPod('other', {nodeName: 'n2'}));
  await cluster.create(twoAlike[1]);

  t.is(await cluster.nodeOf('p2'), 'n3');
  t.deepEqual(countsOf(second), {attempts: {no_hint: 1, hint_not_used: 1}, flushes: {empty_list: 1}});
});

test('a pod that goes to its nominated node leaves its hint alone', async t => {
  await using cluster = await aCluster(...nodesWithRoom(1, ...n123));
  await using second = await aSecond(cluster, {profiles, off});
  const gated = preferring('p2', n123, {schedulingGates: [{name: 'example.com/wait'}]});
  await cluster.create(gated);
  await cluster.pods.patch('p2', 'merge', {status: {nominatedNodeName: 'n3'}}, {namespace: 'default', subresource: 'status'});
  await cluster.create(twoAlike[0]);

  await cluster.pods.patch('p2', 'merge', {spec: {schedulingGates: []}}, {namespace: 'default'});
  await cluster.clock.drain();

  t.is(await cluster.nodeOf('p2'), 'n3');
  t.deepEqual(countsOf(second), {attempts: {no_hint: 1, hint_not_used: 1}, flushes: {empty_list: 1}});
});

type World = Awaited<ReturnType<typeof aCluster>>;

// What happens between two pods that are alike, and what becomes of what the first left.
for (const [reason, title, pods, between, expected, flushes] of [
  [
    'pod_skipped',
    'another profile had a pod between them',
    1,
    async (cluster: World) => cluster.create(preferring('other', ['n3'], {schedulerName: 'mysched'})),
    'n2',
    {pod_skipped: 1, empty_list: 1},
  ],
  [
    'pod_skipped',
    'a pod between them failed',
    1,
    async (cluster: World) => cluster.create(preferring('other', n123, {cpu: '9'} as never)),
    'n2',
    // The pod that failed was compared too.
    {pod_incompatible: 1, pod_skipped: 1},
  ],
  [
    'pod_incompatible',
    'the second differs',
    1,
    async (cluster: World) => cluster.create(preferring('other', n123, {tolerations: [{key: 'k', operator: 'Exists'}]})),
    'n3',
    {pod_incompatible: 2, empty_list: 1},
  ],
  ['expired', 'half a second has passed', 1, async ({clock}: World) => clock.advance(501), 'n2', {expired: 1}],
  [
    'node_missing',
    'the node of the first is gone',
    1,
    async ({client, clock}: World) => {
      await client.resource(kinds.nodes).delete('n1', {});
      await clock.drain();
    },
    'n2',
    {node_missing: 1},
  ],
  ['node_not_full', 'the node of the first has room', 2, async () => {}, 'n1', {node_not_full: 1}],
] as const) {
  test(`a batch is not used where ${title}: ${reason}`, async t => {
    await using cluster = await aCluster(...nodesWithRoom(pods, ...n123));
    await using second = await aSecond(cluster, {profiles, off});
    await cluster.create(twoAlike[0]);

    await between(cluster);
    await cluster.create(twoAlike[1]);

    t.is(await cluster.nodeOf('p2'), expected);
    const counted = countsOf(second);
    t.deepEqual(counted.flushes, flushes);
    t.is(counted.attempts['hint_used'], undefined);
  });
}

test('a batch is used for half a second', async t => {
  await using cluster = await aCluster(...nodesWithRoom(1, ...n123));
  await using second = await aSecond(cluster, {profiles, off});
  await cluster.create(twoAlike[0]);

  await cluster.clock.advance(500);
  await cluster.create(twoAlike[1]);

  t.deepEqual(countsOf(second), {attempts: {no_hint: 1, hint_used: 1}, flushes: {}});
});

for (const [title, spec] of [
  ['affinity with pods', {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}}],
  [
    'topology spread',
    {topologySpreadConstraints: [{maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {}}]},
  ],
] satisfies readonly (readonly [string, Partial<PodSpec>])[]) {
  test(`no batch is made of pods with ${title}: pod_not_batchable`, async t => {
    await using cluster = await aCluster(...nodesWithRoom(1, ...n123));
    await using second = await aSecond(cluster, {profiles, off});

    await cluster.create(...['p1', 'p2'].map(name => aPod(name, {schedulerName: 'mine', ...spec})));

    t.deepEqual(countsOf(second), {attempts: {no_hint: 2}, flushes: {pod_not_batchable: 2}});
  });
}

test('the default profile spreads pods, and makes no batches', async t => {
  await using cluster = await aCluster(...nodesWithRoom(1, ...n123));
  await using second = await aSecond(cluster);

  await cluster.create(...['p1', 'p2', 'p3'].map(name => aPod(name, {schedulerName: 'mine'})));

  t.deepEqual(countsOf(second), {attempts: {no_hint: 3}, flushes: {pod_not_batchable: 2, empty_list: 1}});
});

test('without the gate nothing is batched or counted', async t => {
  await using cluster = await aCluster(...nodesWithRoom(1, ...n123));
  await using second = await aSecond(cluster, {profiles, off: [...off, 'OpportunisticBatching']});

  await cluster.create(...twoAlike);

  t.deepEqual([await cluster.nodeOf('p1'), await cluster.nodeOf('p2')], ['n1', 'n2']);
  t.deepEqual(countsOf(second), {attempts: {}, flushes: {}});
});
