import test from 'ava';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {runSteps, stepsOf} from '#src/base/steps.js';
import {hostPorts, imageNames, requiredFeatures, resources, tolerations, volumes} from '#src/scheduler/signatures/fragments.js';
import {nodeAffinity} from '#src/scheduler/signatures/node-affinity-fragment.js';
import {pluginsWithoutSignature, PodSigner} from '#src/scheduler/batching/sign-pod.js';
import {settingsOf} from '#src/scheduler/configuration/settings.js';
import type {Filter, Score, PluginSignature, SignatureFragment} from '#src/scheduler/framework/plugin.js';
import {defaultProfile, defaultSchedulerName, type Profile} from '#src/scheduler/profile.js';
import {aClusterState, toPodInfo} from './cluster-state.js';
import {aPod} from './objects.js';

const cluster = aClusterState({nodes: []});
const withFeatures = aClusterState({nodes: []}, ['NodeDeclaredFeatures']);

const valueOf = ({value}: SignatureFragment, pod: Pod, of = cluster) => runSteps(stepsOf(value(toPodInfo(pod), of)));

const specOf = (...containers: object[]): Partial<PodSpec> => ({containers: containers as never});
const ports = (...list: number[]) => ({ports: list.map(hostPort => ({hostPort}))});
const volume = (name: string, source: object) => ({name, ...source});
const emptyDir = {emptyDir: {}};
const hostPath = {hostPath: {path: '/tmp'}};

const unsortedAffinity = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [
      {
        matchExpressions: [
          {key: 'kk3', operator: 'In', values: ['v3', 'kv4']},
          {key: 'kk2', operator: 'In', values: ['kv1', 'v2']},
        ],
        matchFields: [{key: 'kk1', operator: 'In', values: ['kv3', 'v4']}],
      },
      {
        matchExpressions: [{key: 'k2', operator: 'In', values: ['v1', 'v2']}],
        matchFields: [{key: 'k1', operator: 'In', values: ['v3', 'v4']}],
      },
    ],
  },
  preferredDuringSchedulingIgnoredDuringExecution: [
    {weight: 3, preference: {matchExpressions: [{key: 'ppk2', operator: 'In', values: ['ppv1', 'v2']}]}},
    {weight: 1, preference: {matchExpressions: [{key: 'pk2', operator: 'Exists'}]}},
  ],
};

const sortedAffinity = {
  Required: [
    `{"MatchExpressions":["{\\"key\\":\\"k2\\",\\"operator\\":\\"In\\",\\"values\\":[\\"v1\\",\\"v2\\"]}"],"MatchFields":["{\\"key\\":\\"k1\\",\\"operator\\":\\"In\\",\\"values\\":[\\"v3\\",\\"v4\\"]}"]}`,
    `{"MatchExpressions":["{\\"key\\":\\"kk2\\",\\"operator\\":\\"In\\",\\"values\\":[\\"kv1\\",\\"v2\\"]}","{\\"key\\":\\"kk3\\",\\"operator\\":\\"In\\",\\"values\\":[\\"kv4\\",\\"v3\\"]}"],"MatchFields":["{\\"key\\":\\"kk1\\",\\"operator\\":\\"In\\",\\"values\\":[\\"kv3\\",\\"v4\\"]}"]}`,
  ],
  Preferred: [
    `{"Preference":{"MatchExpressions":["{\\"key\\":\\"pk2\\",\\"operator\\":\\"Exists\\"}"],"MatchFields":[]},"Weight":1}`,
    `{"Preference":{"MatchExpressions":["{\\"key\\":\\"ppk2\\",\\"operator\\":\\"In\\",\\"values\\":[\\"ppv1\\",\\"v2\\"]}"],"MatchFields":[]},"Weight":3}`,
  ],
};

for (const [title, fragment, spec, expected] of [
  ['host ports: no containers', hostPorts, specOf(), []],
  ['host ports: containers without host ports', hostPorts, specOf({ports: [{containerPort: 80}]}), []],
  ['host ports: single container with host port', hostPorts, specOf(ports(8080)), [8080]],
  [
    'host ports: multiple containers, unsorted host ports, duplicates',
    hostPorts,
    {...specOf(ports(80), ports(443, 80)), initContainers: [ports(9090)] as never},
    [80, 443, 9090],
  ],
  ['tolerations: none', tolerations, {}, []],
  [
    'tolerations: multiple, unsorted',
    tolerations,
    {
      tolerations: [
        {key: 'b', value: '2'},
        {key: 'a', value: '1'},
        {key: 'b', value: '1'},
      ],
    },
    [
      {key: 'a', value: '1'},
      {key: 'b', value: '1'},
      {key: 'b', value: '2'},
    ],
  ],
  ['volumes: none', volumes, {}, []],
  [
    'volumes: only ignored ones',
    volumes,
    {volumes: [volume('v1', {configMap: {name: 'cm'}}), volume('v2', {secret: {secretName: 'secret'}})]},
    [],
  ],
  [
    'volumes: mixed, without the ignored ones and sorted',
    volumes,
    {volumes: [volume('v1', hostPath), volume('v2', {configMap: {name: 'cm'}}), volume('v3', emptyDir)]},
    ['{"emptyDir":{}}', '{"hostPath":{"path":"/tmp"}}'],
  ],
  ['node affinity: nil affinity', nodeAffinity, {}, null],
  [
    'node affinity: empty affinity',
    nodeAffinity,
    {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}},
    {Required: [], Preferred: []},
  ],
  ['node affinity: affinity unsorted', nodeAffinity, {affinity: {nodeAffinity: unsortedAffinity}}, sortedAffinity],
  ['images: no images', imageNames, specOf(), []],
  ['images: one image', imageNames, specOf({image: 'myimage'}), ['myimage:latest']],
  ['images: two images unsorted', imageNames, specOf({image: 'zmyimage'}, {image: 'myimage'}), ['myimage:latest', 'zmyimage:latest']],
  [
    'requests: with overhead, and without defaults of what is not stated',
    resources,
    {
      ...specOf({resources: {requests: {cpu: '100m', 'example.com/gpu': '2'}}}, {}),
      overhead: {memory: '1Mi'},
    },
    {MilliCPU: 100, Memory: 1024 * 1024, EphemeralStorage: 0, ScalarResources: {'example.com/gpu': 2}},
  ],
  ['requests: none', resources, specOf({}), {MilliCPU: 0, Memory: 0, EphemeralStorage: 0, ScalarResources: null}],
  ['features: not compared without the gate', requiredFeatures, {}, undefined],
] as const satisfies readonly (readonly [string, SignatureFragment, object, unknown])[]) {
  test(`what a signature has of a pod: ${title}`, t => {
    t.deepEqual(valueOf(fragment, aPod('p', spec as Partial<PodSpec>)), expected);
  });
}

test('a signature has the features that a pod needs of its node, with the gate', t => {
  const restarting = specOf({name: 'c', image: 'i', restartPolicyRules: [{action: 'RestartAllContainers'}]});

  t.deepEqual(valueOf(requiredFeatures, aPod('p', restarting), withFeatures), ['RestartAllContainersOnContainerExits']);
  t.deepEqual(valueOf(requiredFeatures, aPod('p'), withFeatures), []);
});

const signed = (profile: Pick<Profile, 'filters' | 'scores'>, pod: Pod, of = cluster) =>
  runSteps(new PodSigner(profile).sign(toPodInfo(pod), of));

const aFilter = (sign?: PluginSignature): Filter => ({plugin: 'NodeName', prepare: () => undefined, hints: [], ...(sign ? {sign} : {})});
const aScore = (sign?: PluginSignature): Score => ({plugin: 'ImageLocality', weight: 1, prepare: () => undefined, ...(sign ? {sign} : {})});
const constant = (...fragments: (readonly [string, number])[]): PluginSignature => ({
  fragments: fragments.map(([key, value]) => ({key, value: () => value})),
});

for (const [title, filters, scores, expected] of [
  ['no plugins', [], [], '{"v1.Pod.Spec.SchedulerName":"test-scheduler"}'],
  ['single filter', [constant(['test', 16])], [], '{"test":16,"v1.Pod.Spec.SchedulerName":"test-scheduler"}'],
  ['single score', [], [constant(['test', 16])], '{"test":16,"v1.Pod.Spec.SchedulerName":"test-scheduler"}'],
  [
    'two plugins',
    [constant(['test', 16])],
    [constant(['test2', 17])],
    '{"test":16,"test2":17,"v1.Pod.Spec.SchedulerName":"test-scheduler"}',
  ],
  [
    'plugin with multiple fragments',
    [constant(['test', 16], ['test2', 17])],
    [],
    '{"test":16,"test2":17,"v1.Pod.Spec.SchedulerName":"test-scheduler"}',
  ],
  ['overlapping fragments', [constant(['test', 16])], [constant(['test', 16])], '{"test":16,"v1.Pod.Spec.SchedulerName":"test-scheduler"}'],
  ['unsignable plugin', [{...constant(['test', 16]), refuses: () => true}], [], undefined],
] as const satisfies readonly (readonly [string, PluginSignature[], PluginSignature[], string | undefined])[]) {
  test(`the signature of a pod by the plugins of a profile: ${title}`, t => {
    const pod = aPod('foo', {schedulerName: 'test-scheduler'});

    t.is(signed({filters: filters.map(aFilter), scores: scores.map(aScore)}, pod), expected);
  });
}

test('every plugin of the default profile signs pods, and plugins that do not are named', t => {
  t.deepEqual(pluginsWithoutSignature(defaultProfile), []);
  t.deepEqual(pluginsWithoutSignature({filters: [aFilter(), aFilter(constant())], scores: [aScore()]}), ['NodeName', 'ImageLocality']);
});

const configured = (...pluginConfig: object[]): Profile =>
  settingsOf({
    apiVersion: 'platscheduler.config.plat.io/v1',
    kind: 'PlatSchedulerConfiguration',
    profiles: [{pluginConfig}],
  }).profiles.get(defaultSchedulerName)!;

const withoutSpreading = {name: 'PodTopologySpread', args: {defaultingType: 'List'}};
const spreading = {
  name: 'PodTopologySpread',
  args: {defaultingType: 'List', defaultConstraints: [{maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway'}]},
};
const mostAllocated = {name: 'NodeResourcesFit', args: {scoringStrategy: {type: 'MostAllocated'}}};
const ignoring = {name: 'InterPodAffinity', args: {ignorePreferredTermsOfExistingPods: true}};
const extended = {...cluster, devices: {...cluster.devices, features: {...cluster.devices.features, extendedResource: true}}} as never;

for (const [title, profile, spec, isSigned, of = cluster] of [
  ['topology spread: pod w constraints', configured(withoutSpreading), {topologySpreadConstraints: [{topologyKey: 'test'}]}, false],
  ['topology spread: pod no constraints but default', configured(), {}, false],
  ['topology spread: pod no constraints but default ones of the configuration', configured(spreading), {}, false],
  ['topology spread: pod no constraints no default', configured(withoutSpreading), {}, true],
  ['affinity set', configured(withoutSpreading), {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{}]}}}, false],
  ['anti-affinity set, but empty', configured(withoutSpreading), {affinity: {podAntiAffinity: {}}}, false],
  ['affinity set, ignore setting set', configured(withoutSpreading, ignoring), {affinity: {podAffinity: {}}}, false],
  ['dra resource claims', configured(withoutSpreading), {resourceClaims: [{name: 'c', resourceClaimName: 'c'}]}, false],
  ['dra extended resources enabled', configured(withoutSpreading), {}, false, extended],
  ['another allocation strategy', configured(withoutSpreading, mostAllocated), {}, true],
] as const) {
  test(`pods are ${isSigned ? '' : 'not '}signable: ${title}`, t => {
    t.is(signed(profile, aPod('p', spec as never), of) !== undefined, isSigned);
  });
}

const labels = 'v1.Pod.Labels';

for (const [title, profile, expected] of [
  ['no affinity, default settings', configured(withoutSpreading), {foo: 'bar'}],
  ['no affinity, ignore setting set', configured(withoutSpreading, ignoring), undefined],
] as const) {
  test(`the labels of a pod are compared for the affinity of other pods: ${title}`, t => {
    const text = signed(profile, aPod('p', {}, {labels: {foo: 'bar'}}));

    t.deepEqual((JSON.parse(text!) as Record<string, unknown>)[labels], expected);
  });
}

const alike = aPod('p', {cpu: '1', nodeSelector: {a: '1', b: '2'}, tolerations: [{key: 'k'}]}, {labels: {x: '1', y: '2'}});

test('the order of fields does not make pods differ', t => {
  const other = aPod('q', {tolerations: [{key: 'k'}], nodeSelector: {b: '2', a: '1'}, cpu: '1'}, {labels: {y: '2', x: '1'}});

  t.is(signed(configured(withoutSpreading), other), signed(configured(withoutSpreading), alike));
});

for (const [what, other] of [
  ['requests', aPod('q', {...alike.spec, containers: [{name: 'main', image: 'app', resources: {requests: {cpu: '2'}}}]})],
  ['images', aPod('q', {...alike.spec, containers: [{...alike.spec!.containers[0]!, image: 'other'}]})],
  ['host ports', aPod('q', {...alike.spec, containers: [{...alike.spec!.containers[0]!, ports: [{containerPort: 1, hostPort: 1}]}]})],
  ['node selectors', aPod('q', {...alike.spec, nodeSelector: {a: '1'}})],
  ['node names', aPod('q', {...alike.spec, nodeName: 'n'})],
  ['tolerations', aPod('q', {...alike.spec, tolerations: []})],
  ['volumes', aPod('q', {...alike.spec, volumes: [{name: 'v', emptyDir: {}}]})],
  ['scheduler names', aPod('q', {...alike.spec, schedulerName: 'other'})],
  ['node affinities', aPod('q', {...alike.spec, affinity: {nodeAffinity: {}}})],
  ['labels', {...alike, metadata: {...alike.metadata, labels: {}}}],
] as const) {
  test(`pods differ by their ${what}`, t => {
    const labelled = {...other, metadata: {...other.metadata, labels: what === 'labels' ? {} : alike.metadata!.labels!}};

    t.not(signed(configured(withoutSpreading), labelled), signed(configured(withoutSpreading), alike));
  });
}
