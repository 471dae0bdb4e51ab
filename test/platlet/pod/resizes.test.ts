import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {formatCheckpoint, parseCheckpoint} from '#src/platlet/checkpoint/text-checkpoint.js';
import {fixedResources} from '#src/platlet/agent/pod-resizes.js';
import {declaredFeatures} from '#src/platlet/node/declared-features.js';
import {computeActions} from '#src/platlet/pod/actions.js';
import {isResizing} from '#src/platlet/pod/resize-actions.js';
import {reportedPodResources, reportedResources} from '#src/platlet/resize/actual-resources.js';
import {containerResources} from '#src/platlet/inputs/resources.js';
import {resizeDecision, type ResizeNode} from '#src/platlet/pod/admission/resize.js';
import {memoryProblem} from '#src/platlet/pod/resources/memory-check.js';
import {completedMessage, errorMessage, pendingMessage, startedMessage} from '#src/platlet/pod/resources/messages.js';
import {resizeOperations} from '#src/platlet/pod/resources/operations.js';
import {comparePending} from '#src/platlet/pod/resources/pending-order.js';
import type {Requirements} from '#src/platlet/pod/resources/pod-resources.js';
import {ResourceState} from '#src/platlet/resize/resource-state.js';
import type {ActualResources} from '#src/platlet/runtime/limits.js';
import {aPod, aRun, aRuntime} from './objects.js';

type Policy = 'NotRequired' | 'RestartContainer';

/** Resources in short: requests and limits of cpu, then of memory; `-` for none. */
const amounts = (text: string): Requirements => {
  const [cpuRequest = '-', cpuLimit = '-', memoryRequest = '-', memoryLimit = '-'] = text.split(' ');
  const list = (cpu: string, memory: string) => ({...(cpu === '-' ? {} : {cpu}), ...(memory === '-' ? {} : {memory})});
  return {requests: list(cpuRequest, memoryRequest), limits: list(cpuLimit, memoryLimit)};
};

const container = (name: string, resources: string, policies: Partial<Record<'cpu' | 'memory', Policy>> = {}) => ({
  name,
  image: name,
  resources: amounts(resources) as {},
  resizePolicy: Object.entries(policies).map(([resourceName, restartPolicy]) => ({resourceName, restartPolicy: restartPolicy!})),
});

const restart = 'RestartContainer';

/** The resizes of pods whose containers run: as allocated, as actuated, and what is done. */
const resizes: readonly (readonly [
  what: string,
  containers: readonly ReturnType<typeof container>[],
  actuated: Readonly<Record<string, string>>,
  actions: string,
])[] = [
  ['both of cpu and memory', [container('app', '100m 100m 100M 100M')], {app: '1m 1m 1 1'}, 'memory app, cpu app'],
  ['cpu alone', [container('app', '100m 100m 100M 100M')], {app: '20m 20m 100M 100M'}, 'cpu app'],
  ['memory alone', [container('app', '100m 100m 100M 100M')], {app: '100m 100m 80M 80M'}, 'memory app'],
  ['requests of cpu', [container('app', '100m 200m - -')], {app: '10m 200m - -'}, 'cpu app'],
  ['requests of memory', [container('app', '- - 100M 200M')], {app: '- - 10M 200M'}, 'memory app'],
  ['a limit that was not there', [container('app', '100m 200m - -')], {app: '100m - - -'}, 'cpu app'],
  ['nothing', [container('app', '100m 100m 100M 100M')], {app: '0.1 100m 100M 100000k'}, ''],
  ['nothing of a pod without resources', [container('app', '- - - -')], {app: '- - - -'}, ''],
  ['what was never noted', [container('app', '100m - - -')], {}, 'cpu app'],
  ['cpu with a restart', [container('app', '100m 100m 100M 100M', {cpu: restart})], {app: '20m 20m 100M 100M'}, 'start app'],
  [
    'both, of which one needs a restart',
    [container('app', '100m 100m 100M 100M', {cpu: 'NotRequired', memory: restart})],
    {app: '20m 20m 20M 20M'},
    'start app',
  ],
  ['a request with a restart', [container('app', '100m - 100M -', {memory: restart})], {app: '100m - 90M -'}, 'start app'],
  [
    'cpu, while memory would need a restart',
    [container('app', '100m 100m 100M 100M', {memory: restart})],
    {app: '20m 20m 100M 100M'},
    'cpu app',
  ],
  [
    'what shrinks before what grows',
    [container('grows', '200m 200m 200M 200M'), container('shrinks', '50m 50m 200M 200M'), container('mixed', '200m 200m 50M 50M')],
    {grows: '100m 100m 100M 100M', shrinks: '100m 100m 100M 100M', mixed: '100m 100m 100M 100M'},
    'memory mixed grows shrinks, cpu shrinks grows mixed',
  ],
];

for (const [what, containers, actuated, expected] of resizes)
  test(`the actions on a running pod resize ${what}`, t => {
    const pod = aPod({containers: [...containers]});
    const known = Object.fromEntries(Object.entries(actuated).map(([name, text]) => [name, amounts(text)]));
    const resize = {actuated: {containers: known}, podLevel: false};
    const runtime = aRuntime(containers.map(({name}) => aRun(name)));
    const actions = computeActions(pod, {runtime, probes: {resultOf: () => undefined}, isChanged: () => false, resize});
    const {memory = [], cpu = []} = actions.resize?.updates ?? {};
    const list = (word: string, names: readonly string[]) => (names.length > 0 ? [`${word} ${names.join(' ')}`] : []);
    const updated = [memory, cpu].map(updates => updates.map(update => update.container.name));
    t.is([...list('memory', updated[0]!), ...list('cpu', updated[1]!), ...list('start', actions.containers)].join(', '), expected);
    t.is(actions.resize?.restarts ?? false, actions.containers.length > 0);
    for (const kill of actions.toKill) t.is(kill.message, `Container ${kill.instance.name} resize requires restart`);
    t.is(isResizing(pod, runtime, resize), expected !== '');
  });

test('containers that do not run are not resized, and static pods are not', t => {
  const pod = aPod({containers: [container('app', '100m - - -')]});
  const inputs = {probes: {resultOf: () => undefined}, isChanged: () => false};
  const resize = {actuated: {containers: {app: amounts('50m - - -')}}, podLevel: false};
  const actions = computeActions(pod, {...inputs, runtime: aRuntime([aRun('app', 1)]), resize});
  t.deepEqual([actions.resize, actions.containers], [undefined, ['app']]);
  t.false(isResizing(pod, aRuntime([aRun('app', 1)]), resize));
  t.is(computeActions(pod, {...inputs, runtime: aRuntime([aRun('app')])}).resize, undefined);
});

test('a running sidecar is resized, or started again for it', t => {
  const sidecar = (policy: Policy) => ({...container('side', '100m - - -', {cpu: policy}), restartPolicy: 'Always'});
  const actionsOf = (policy: Policy) =>
    computeActions(aPod({initContainers: [sidecar(policy)]}), {
      runtime: aRuntime([aRun('app'), aRun('side')]),
      probes: {resultOf: () => undefined},
      isChanged: () => false,
      resize: {actuated: {containers: {side: amounts('50m - - -')}}, podLevel: false},
    });
  t.deepEqual(
    actionsOf('NotRequired').resize?.updates.cpu.map(({instance}) => instance.id),
    ['side-0'],
  );
  const {toKill, initContainers} = actionsOf(restart);
  t.deepEqual([toKill.map(({message}) => message), initContainers], [['Container side resize requires restart'], ['side']]);
});

test('a pod with resources of its own is resized as a whole, with the containers that have limits of it', t => {
  const pod = aPod({resources: amounts('200m 300m - -') as {}, containers: [container('app', '- - - -')]});
  const actuated = {pod: amounts('100m 200m - -'), containers: {app: amounts('- 200m - -')}};
  const actions = (podLevel: boolean) =>
    computeActions(pod, {
      runtime: aRuntime([aRun('app')]),
      probes: {resultOf: () => undefined},
      isChanged: () => false,
      resize: {actuated, podLevel},
    }).resize;
  t.true(actions(true)?.whole);
  t.deepEqual(
    actions(true)?.updates.cpu.map(({desired, current}) => [desired.cpuLimit, current.cpuLimit]),
    [[300, 200]],
  );
  t.false(actions(false)?.whole ?? false);
});

const node: ResizeNode = {
  naming: naming('plat'),
  capacity: {cpu: '4', memory: '4Gi'},
  fixed: {cpu: false, memory: false},
  podLevel: false,
  admit: () => ({is: 'admitted'}),
};
const refused = {is: 'refused', rejection: {reason: 'OutOfcpu', message: 'too little'}} as const;
const static_ = {annotations: {[naming('plat').key('config.source')]: 'file'}};
const same = '1 1 1Gi 1Gi';

/** What a node says to a pod with one container. */
const decisions: readonly (readonly [
  what: string,
  node: Partial<ResizeNode>,
  allocated: string,
  desired: string,
  decision: string,
  metadata?: Pod['metadata'],
])[] = [
  ['more cpu, less memory', {}, '1 - 1Gi -', '2 - 500Mi -', 'accepted'],
  ['more than there is room for', {admit: () => refused}, '1 - 1Gi -', '3 - 1Gi -', 'deferred: too little'],
  [
    'too much cpu',
    {},
    '1 - 1Gi -',
    '5 - 1Gi -',
    "infeasible insufficient_node_allocatable: Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
  ],
  [
    'too much memory, which is named first',
    {},
    '1 - 1Gi -',
    '5 - 5Gi -',
    "infeasible insufficient_node_allocatable: Node didn't have enough capacity: memory, requested: 5368709120, capacity: 4294967296",
  ],
  ['a static pod', {}, '1 - - -', '2 - - -', 'infeasible static_pod: In-place resize of static-pods is not supported', static_],
  [
    'cpu of a Guaranteed pod that has it alone',
    {fixed: {cpu: true, memory: true}},
    same,
    '2 2 1Gi 1Gi',
    'infeasible guaranteed_pod_cpu_manager_static_policy: Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
  ],
  [
    'memory of a Guaranteed pod that has it alone',
    {fixed: {cpu: true, memory: true}},
    same,
    '1 1 2Gi 2Gi',
    'infeasible guaranteed_pod_memory_manager_static_policy: Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
  ],
  ['cpu of a Guaranteed pod whose memory is fixed', {fixed: {cpu: false, memory: true}}, same, '2 2 1Gi 1Gi', 'accepted'],
  ['a pod of another class', {fixed: {cpu: true, memory: true}}, '1 - 1Gi -', '2 - 1Gi -', 'accepted'],
  [
    'memory of a container with swap',
    {mayUseSwap: () => true},
    '1 - 1Gi -',
    '1 - 2Gi -',
    'infeasible swap_limitation: In-place resize of containers with swap is not supported.',
  ],
  ['cpu of a container with swap', {mayUseSwap: () => true}, '1 - 1Gi -', '2 - 1Gi -', 'accepted'],
];

for (const [what, given, allocated, desired, expected, metadata = {}] of decisions)
  test(`a node decides about a resize: ${what}`, t => {
    const [before, now] = [allocated, desired].map(text => aPod({containers: [container('app', text)]}, metadata));
    const decision = resizeDecision({...node, ...given}, now!, before!);
    const text = 'message' in decision ? `${decision.is}${decision.detail ? ` ${decision.detail}` : ''}: ${decision.message}` : decision.is;
    t.is(text, expected);
  });

test('a container that is started again for its memory may have swap', t => {
  const [before, now] = ['1 - 1Gi -', '1 - 2Gi -'].map(text => aPod({containers: [container('app', text, {memory: restart})]}));
  t.is(resizeDecision({...node, mayUseSwap: () => true}, now!, before!).is, 'accepted');
});

test('resources of pods themselves are resized only under their gate', t => {
  const pods = ['1 - - -', '2 - - -'].map(text => aPod({resources: amounts(text) as {}}));
  t.like(resizeDecision(node, pods[1]!, pods[0]!), {
    is: 'infeasible',
    message: 'InPlacePodLevelResourcesVerticalScaling is disabled',
    detail: 'plr_feature_gate_off',
  });
  t.is(resizeDecision({...node, podLevel: true}, pods[1]!, pods[0]!).is, 'accepted');
});

test('pending resizes are tried by what they ask for, priority, class and time', t => {
  const pending = (name: string, desired: string, since?: number, priority = 0) => {
    const pod = (text: string) => aPod({priority, containers: [container('app', text)]}, {name});
    return {desired: pod(desired), allocated: pod('1 1 1Gi 1Gi'), since};
  };
  const sorted = [
    pending('untried', '2 - 1Gi -'),
    pending('late', '2 - 1Gi -', 20),
    pending('early', '2 - 1Gi -', 10),
    pending('guaranteed', '2 2 2Gi 2Gi', 30),
    pending('important', '2 - 1Gi -', 40, 100),
    pending('less', '500m - 1Gi -', 50),
  ].sort(comparePending);
  t.deepEqual(
    sorted.map(({desired}) => desired.metadata?.name),
    ['less', 'important', 'guaranteed', 'early', 'late', 'untried'],
  );
});

const state = '{"entries":{"pod1":{"ContainerResources":{"container1":{"requests":{"cpu":"1Ki","memory":"1Ki"}}}}}}';

/** Files in memory. */
const filesWith = (content?: string) => {
  let written = content;
  return {
    read: () => Promise.resolve(written === undefined ? undefined : Buffer.from(written)),
    write: (_: string, text: string | Buffer) => ((written = String(text)), Promise.resolve()),
    get content() {
      return written;
    },
  };
};

test('what is allocated is kept in the form of the original, with its checksum', async t => {
  t.is(JSON.parse(formatCheckpoint(state)).checksum, 1178570812);
  t.is(parseCheckpoint(formatCheckpoint(state)), state);
  const files = filesWith(formatCheckpoint(state));
  const read = await ResourceState.open({files, path: 'allocated_pods_state'});
  t.deepEqual(read.get('pod1'), {containers: {container1: {requests: {cpu: '1Ki', memory: '1Ki'}}}});
  read.sweep(() => false);
  const writes = [
    read.set('b', {containers: {app: {requests: {memory: '1024Mi', cpu: '0.5'}, limits: {cpu: '1000m'}}}}),
    read.setPod('a', {requests: {cpu: '1'}}),
  ];
  await Promise.all(writes);
  const expected =
    '{"entries":{"a":{"ContainerResources":{},"PodLevelResources":{"requests":{"cpu":"1"}}},' +
    '"b":{"ContainerResources":{"app":{"limits":{"cpu":"1"},"requests":{"cpu":"500m","memory":"1Gi"}}},"PodLevelResources":null}}}';
  t.is(parseCheckpoint(files.content!), expected);
  t.deepEqual((await ResourceState.open({files, path: ''})).get('a'), {containers: {}, pod: {requests: {cpu: '1'}}});
});

test('a damaged file of what is allocated ends the start, with its name', async t => {
  for (const content of [formatCheckpoint(state).replace('1Ki', '2Ki'), '{', '{"data":1,"checksum":1}'])
    await t.throwsAsync(ResourceState.open({files: filesWith(content), path: '/root/allocated_pods_state'}), {
      message: /^could not restore state from checkpoint: .*delete pod resource information checkpoint file "\/root\/allocated_pods_state"/,
    });
});

/** What the status of a container shows: what is allocated, actuated and known of the kernel, and what was shown before. */
const reports: readonly (readonly [
  what: string,
  allocated: string,
  actuated: string,
  actual: ActualResources | undefined,
  shown: string,
])[] = [
  [
    'what the kernel has',
    '2 2 2Gi 2Gi',
    '1 1 1Gi 1Gi',
    {cpuShares: 1024, cpuQuota: 100_000, cpuPeriod: 100_000, memoryLimitBytes: 2 ** 30},
    '1 1 1Gi 1Gi',
  ],
  ['what was noted, of a runtime that does not tell', '2 2 2Gi 2Gi', '1 1 1Gi 1Gi', undefined, '1 1 1Gi 1Gi'],
  [
    'small requests and limits as they are allocated',
    '1m 5m - -',
    '1m 5m - -',
    {cpuShares: 2, cpuQuota: 1000, cpuPeriod: 100_000},
    '1m 5m - -',
  ],
  ['odd requests', '100m - - -', '100m - - -', {cpuShares: 102, cpuQuota: -1, cpuPeriod: 100_000}, '100m - - -'],
  ['requests by weights', '100m - - -', '100m - - -', {cpuShares: 80, cpuWeight: 4, cpuQuota: -1, cpuPeriod: 100_000}, '100m - - -'],
  ['requests by other weights', '500m - - -', '500m - - -', {cpuShares: 80, cpuWeight: 4, cpuQuota: -1, cpuPeriod: 100_000}, '79m - - -'],
];

for (const [what, allocated, actuated, actual, shown] of reports)
  test(`the status of a container shows ${what}`, t => {
    const run = aRun('app', 'running', actual ? {resources: actual} : {});
    t.deepEqual(reportedResources(container('app', allocated), run, amounts(actuated), undefined), amounts(shown));
  });

test('the status of a container that does not run shows what is allocated', t => {
  const run = aRun('app', 0, {resources: {cpuShares: 2048}});
  t.deepEqual(reportedResources(container('app', '1 - - -'), run, amounts('2 - - -'), undefined), amounts('1 - - -'));
});

test('limits of memory are not lowered below what is in use', t => {
  t.is(memoryProblem({limit: undefined, usage: 5}, [{name: 'app', limit: 6, usage: 5}]), undefined);
  t.is(memoryProblem({limit: 5, usage: 5}, []), 'attempting to set pod memory limit (5) below current usage (5)');
  t.is(
    memoryProblem({limit: 5, usage: 7}, [
      {name: 'app', limit: 3, usage: 4},
      {name: 'b', limit: 3, usage: undefined},
    ]),
    '[attempting to set pod memory limit (5) below current usage (7), attempting to set container "app" memory limit (3) below current usage (7), missing container "b" memory usage]',
  );
});

test('events of a resize name the resources of all containers', t => {
  const pod = aPod({
    initContainers: [{...container('c0', '100m 200m - -'), restartPolicy: 'Always'}],
    containers: [container('c1', '- - 100 200'), container('c2', '200m - 100 -')],
  });
  const summary =
    '{"initContainers":[{"name":"c0","resources":{"limits":{"cpu":"200m"},"requests":{"cpu":"100m"}}}],"containers":[{"name":"c1","resources":{"limits":{"memory":"200"},"requests":{"memory":"100"}}},{"name":"c2","resources":{"requests":{"cpu":"200m","memory":"100"}}}],"generation":2';
  t.is(startedMessage(pod, 2), `Pod resize started: ${summary}}`);
  t.is(completedMessage(pod, 2), `Pod resize completed: ${summary}}`);
  t.is(errorMessage(pod, 2, 'some error occurred'), `Pod resize error: ${summary},"error":"some error occurred"}`);
  t.is(pendingMessage(pod, 'Deferred', 2, 'too little'), `Pod resize Deferred: ${summary},"error":"too little"}`);
  t.is(completedMessage(aPod(), 3), 'Pod resize completed: {"containers":[{"name":"app","resources":{}}],"generation":3}');
});

test('what a node cannot resize, and declares that it can, goes by its policies and gates', t => {
  const gates =
    (...on: readonly string[]) =>
    (name: string) =>
      on.includes(name);
  const settings = (cpuManagerPolicy: string, memoryManagerPolicy = 'None') => ({cpuManagerPolicy, memoryManagerPolicy});
  t.deepEqual(fixedResources(settings('static', 'Static'), gates()), {cpu: true, memory: true});
  t.deepEqual(fixedResources(settings('none'), gates()), {cpu: false, memory: false});
  const exclusive = gates('InPlacePodVerticalScalingExclusiveCPUs', 'InPlacePodVerticalScalingExclusiveMemory');
  t.deepEqual(fixedResources(settings('static', 'Static'), exclusive), {cpu: false, memory: false});

  t.is(declaredFeatures(settings('none'), gates()), undefined);
  t.deepEqual(declaredFeatures(settings('none'), gates('NodeDeclaredFeatures')), ['GuaranteedQoSPodCPUResize']);
  t.deepEqual(declaredFeatures(settings('static'), gates('NodeDeclaredFeatures')), []);
  t.deepEqual(
    declaredFeatures(settings('static'), name => exclusive(name) || gates('NodeDeclaredFeatures')(name)),
    ['GuaranteedQoSPodCPUResize'],
  );
  t.deepEqual(declaredFeatures(settings('static'), gates('NodeDeclaredFeatures', 'InPlacePodLevelResourcesVerticalScaling')), [
    'InPlacePodLevelResourcesVerticalScaling',
  ]);
  t.deepEqual(declaredFeatures(settings('static'), gates('NodeDeclaredFeatures', 'RestartAllContainersOnContainerExits')), [
    'RestartAllContainersOnContainerExits',
  ]);
});

test('the status of a pod shows its own resources: first what is allocated, then what its cgroup has', t => {
  const pod = aPod({resources: amounts('200m 300m 64Mi 128Mi') as {}});
  const running = {...pod, status: {phase: 'Running'}};
  const allocatedResources = {cpu: '200m', memory: '64Mi'};
  t.deepEqual(reportedPodResources(pod, undefined, undefined), {resources: amounts('200m 300m 64Mi 128Mi'), allocatedResources});
  const actual = {cpuShares: 102, cpuQuota: 20_000, cpuPeriod: 100_000, memoryLimitBytes: 2 ** 26};
  t.deepEqual(reportedPodResources(running, actual, undefined), {resources: amounts('100m 200m 64Mi 64Mi'), allocatedResources});
});

test('a container without limits of its own has those of its pod', t => {
  const settings = {enforcesCpuLimits: true, cpuPeriod: 100_000, memoryCapacity: 2 ** 30, pageSizes: [], killsGroups: false};
  const pod = aPod({resources: amounts('200m 300m 64Mi 128Mi') as {}});
  t.like(containerResources(pod, container('app', '100m - - 64Mi'), settings), {
    cpuShares: 102,
    cpuQuota: 30_000,
    memoryLimitBytes: 2 ** 26,
  });
});

test('a changed spec is counted by what it adds, removes, raises and lowers', t => {
  const pods = ['1 - 1Gi 2Gi', '2 2 - 1Gi'].map(text => aPod({containers: [container('app', text)]}));
  t.deepEqual(
    resizeOperations(pods[0]!, pods[1]!).map(({resource, requirement, operation}) => `${resource} ${requirement} ${operation}`),
    ['memory requests remove', 'memory limits decrease', 'cpu requests increase', 'cpu limits add'],
  );
});
