import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {settingsOf} from '#src/scheduler/configuration/settings.js';
import {runSteps} from '#src/base/steps.js';
import {findFeasibleNodes} from '#src/scheduler/framework/fit.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {defaultProfile, type Profile} from '#src/scheduler/profile.js';
import {aNode, aPod} from './objects.js';
import {aClusterState, toPodInfo, scoresOf, type ClusterObjects} from './cluster-state.js';
import {affinity, app, named, near, onNode, weighted, zones} from './pod-specs.js';

const configured = (fields: object) =>
  settingsOf({apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration', ...fields});

const profiled = (fields: object) => configured({profiles: [fields]}).profiles.get('default-scheduler')!;
const configuredWith = (name: string, args: object) => profiled({pluginConfig: [{name, args}]});
const scoreOf = ({scores}: Profile, plugin: string): Score => scores.find(score => score.plugin === plugin)!;

test('a configuration names profiles, chooses their plugins and weighs them', t => {
  const {profiles, backoff} = configured({
    percentageOfNodesToScore: 30,
    podInitialBackoffSeconds: 2,
    podMaxBackoffSeconds: 20,
    profiles: [
      {
        schedulerName: 'packing',
        percentageOfNodesToScore: 100,
        plugins: {score: {disabled: [{name: '*'}], enabled: [{name: 'NodeResourcesFit', weight: 7}]}},
      },
      {
        schedulerName: 'careless',
        plugins: {
          multiPoint: {disabled: [{name: 'DefaultPreemption'}, {name: 'ImageLocality'}]},
          filter: {disabled: [{name: 'NodePorts'}]},
        },
      },
    ],
  });
  const [packing, careless] = [profiles.get('packing')!, profiles.get('careless')!];

  t.deepEqual(backoff, {initialMs: 2_000, maxMs: 20_000});
  t.deepEqual([packing.percentageOfNodesToScore, careless.percentageOfNodesToScore], [100, 30]);
  t.deepEqual(
    packing.scores.map(({plugin, weight}) => [plugin, weight]),
    [['NodeResourcesFit', 7]],
  );
  t.deepEqual([packing.preempts, careless.preempts], [true, false]);
  t.false(careless.scores.some(({plugin}) => plugin === 'ImageLocality'));
  t.deepEqual(
    defaultProfile.filters.filter(filter => !careless.filters.includes(filter)).map(({plugin}) => plugin),
    ['NodePorts'],
  );
  t.deepEqual(configured({}).profiles.get('default-scheduler'), defaultProfile);
});

const gpu = {allocatable: {'example.com/gpu': '4'}};
const pluginArguments: readonly [
  title: string,
  profile: Profile,
  plugin: string,
  objects: ClusterObjects,
  pod: Pod,
  expected: Record<string, number>,
][] = [
  [
    'to fill nodes',
    configuredWith('NodeResourcesFit', {scoringStrategy: {type: 'MostAllocated'}}),
    'NodeResourcesFit',
    {
      nodes: [aNode('n', {cpu: '4', memory: '4Gi'}), aNode('m', {cpu: '4', memory: '4Gi'})],
      pods: [onNode('m', 'x', {cpu: '2', memory: '2Gi'})],
    },
    aPod('p', {cpu: '1', memory: '1Gi'}),
    {n: 25, m: 75},
  ],
  [
    'to fill nodes with devices, by a line',
    configuredWith('NodeResourcesFit', {
      scoringStrategy: {
        type: 'RequestedToCapacityRatio',
        resources: [{name: 'example.com/gpu', weight: 3}],
        requestedToCapacityRatio: {
          shape: [
            {utilization: 0, score: 0},
            {utilization: 100, score: 10},
          ],
        },
      },
    }),
    'NodeResourcesFit',
    {
      nodes: [aNode('n', gpu), aNode('m', gpu)],
      pods: [onNode('m', 'x', {containers: [{name: 'c', image: 'i', resources: {requests: {'example.com/gpu': '2'}}}]})],
    },
    aPod('p', {containers: [{name: 'c', image: 'i', resources: {requests: {'example.com/gpu': '1'}}}]}),
    {n: 25, m: 75},
  ],
  [
    'what pods on nodes require counts for more',
    configuredWith('InterPodAffinity', {hardPodAffinityWeight: 9}),
    'InterPodAffinity',
    {
      nodes: named,
      pods: [
        onNode('n1', 'x', affinity('podAffinity', near('web')), app('web')),
        onNode('n3', 'y', weighted('podAffinity', {weight: 3, podAffinityTerm: near('web')})),
      ],
    },
    aPod('p', {}, app('web')),
    {n1: 100, n2: 100, n3: 0},
  ],
];

for (const [title, profile, plugin, objects, pod, expected] of pluginArguments)
  test(`a plugin is configured ${title}`, t => t.deepEqual(scoresOf(scoreOf(profile, plugin), pod, aClusterState(objects)), expected));

test('resources that others see to are not looked at', t => {
  const {filters} = configuredWith('NodeResourcesFit', {ignoredResources: ['example.com/one'], ignoredResourceGroups: ['other.com']});
  const pod = (name: string) => toPodInfo(aPod('p', {containers: [{name: 'c', image: 'i', resources: {requests: {[name]: '1'}}}]}));
  const fits = (name: string) =>
    runSteps(
      findFeasibleNodes(pod(name), {
        cluster: aClusterState({nodes: [aNode('n')]}),
        filters,
        nominatedPods: () => [],
        nominatedNode: undefined,
        percentageOfNodesToScore: 0,
        startIndex: 0,
      }),
    ).feasible.length === 1;

  t.deepEqual(['example.com/one', 'example.com/two', 'other.com/three'].map(fits), [true, false, true]);
});

test('pods of a service that state nothing are spread as the configuration demands', t => {
  const {filters} = configuredWith('PodTopologySpread', {
    defaultingType: 'List',
    defaultConstraints: [{maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule'}],
  });
  const cluster = aClusterState({
    nodes: zones,
    pods: [onNode('a1', 'x', {}, app('web'))],
    services: [{metadata: {name: 's', namespace: 'default'}, spec: {selector: {app: 'web'}}} as never],
  });
  const {feasible} = runSteps(
    findFeasibleNodes(toPodInfo(aPod('p', {}, app('web'))), {
      cluster,
      filters,
      nominatedPods: () => [],
      nominatedNode: undefined,
      percentageOfNodesToScore: 0,
      startIndex: 0,
    }),
  );

  t.deepEqual(
    feasible.map(({name}) => name),
    ['b1'],
  );
});

const configurationRefusals: readonly [fields: unknown, message: string][] = [
  [
    {kind: 'Pod'},
    'it must be a PlatSchedulerConfiguration of platscheduler.config.plat.io/v1 or a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1',
  ],
  [{extenders: []}, 'extenders: is not a field that can be set here'],
  [{profiles: {}}, 'profiles: must be a list'],
  [{percentageOfNodesToScore: 101}, 'percentageOfNodesToScore: must be a whole number from 0 to 100'],
  [{podInitialBackoffSeconds: 0}, 'podInitialBackoffSeconds: must be a whole number from 1 to 2147483647'],
  [
    {podInitialBackoffSeconds: 9, podMaxBackoffSeconds: 3},
    'podMaxBackoffSeconds: must be greater than or equal to PodInitialBackoffSeconds',
  ],
  [{profiles: [{}, {}]}, 'profiles[1].schedulerName: Duplicate value: "default-scheduler"'],
  [{profiles: [{plugins: {score: {enabled: [{name: 'Guess'}]}}}]}, 'profiles[0].plugins.score: there is no plugin "Guess"'],
  [{profiles: [{plugins: {preBind: {}}}]}, 'profiles[0].plugins.preBind: is not a field that can be set here'],
  [
    {profiles: [{pluginConfig: [{name: 'VolumeBinding', args: {}}]}]},
    'profiles[0].pluginConfig[0].name: "VolumeBinding" cannot be configured here',
  ],
  [
    {profiles: [{pluginConfig: [{name: 'NodeResourcesFit', args: {scoringStrategy: {type: 'Best'}}}]}]},
    'profiles[0].pluginConfig[0].args.scoringStrategy.type: must be one of LeastAllocated, MostAllocated, RequestedToCapacityRatio',
  ],
  [
    {profiles: [{pluginConfig: [{name: 'NodeResourcesFit', args: {scoringStrategy: {type: 'RequestedToCapacityRatio'}}}]}]},
    'profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified',
  ],
  [
    {
      profiles: [
        {
          pluginConfig: [
            {
              name: 'PodTopologySpread',
              args: {defaultConstraints: [{maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway'}]},
            },
          ],
        },
      ],
    },
    'profiles[0].pluginConfig[0].args.defaultingType: when .defaultConstraints are not empty must be List',
  ],
];

test('a configuration is refused with the path of the field that is wrong', t => {
  for (const [fields, message] of configurationRefusals) t.throws(() => configured(fields as object), {message});
});
