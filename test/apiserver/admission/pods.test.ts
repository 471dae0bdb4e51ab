import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Binding, Pod, PodSpec} from '#src/api/pod.js';
import {eventRateLimit} from '#src/apiserver/admission/event-rate-limit.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {podTopologyLabels} from '#src/apiserver/admission/pods/pod-topology-labels.js';
import {jane, refusal, words} from '#test/resources/environment.js';
import {aPod, aPluginContext, namespace, startWith, why} from './context.js';

test('a pod acts as the default account, with its token in every container and its pull secrets', async t => {
  const {of, pod} = await startWith('ServiceAccount');
  t.is(await why(pod()), 'error looking up service account default/default: serviceaccount "default" not found');
  t.is(
    await why(pod({serviceAccountName: '../a'})),
    'error looking up service account default/../a: invalid resource name "../a": [may not contain \'/\']',
  );
  await of(kinds.serviceAccounts).create({metadata: {name: 'default', namespace}, imagePullSecrets: [{name: 'pull'}]});

  const {spec} = await pod({
    initContainers: [{name: 'own', image: 'i', volumeMounts: [{name: 'v', mountPath: words.tokenMountPath}]}],
    volumes: [{name: 'v', emptyDir: {}}],
  });
  const [, volume] = spec!.volumes!;
  t.is(spec!.serviceAccountName, 'default');
  t.deepEqual(spec!.imagePullSecrets, [{name: 'pull'}]);
  t.regex(volume!.name, /^plat-api-access-[a-z0-9]{5}$/);
  t.deepEqual(spec!.containers[0]!.volumeMounts, [
    {name: volume!.name, readOnly: true, mountPath: '/var/run/secrets/plat.io/serviceaccount'},
  ]);
  t.deepEqual(
    spec!.initContainers![0]!.volumeMounts!.map(({name}) => name),
    ['v'],
  );
  t.deepEqual(volume!.projected, {
    defaultMode: 420,
    sources: [
      {serviceAccountToken: {expirationSeconds: 3607, path: 'token'}},
      {configMap: {name: 'plat-root-ca.crt', items: [{key: 'ca.crt', path: 'ca.crt'}]}},
      {downwardAPI: {items: [{path: 'namespace', fieldRef: {apiVersion: 'v1', fieldPath: 'metadata.namespace'}}]}},
    ],
  });
  t.is((await pod({automountServiceAccountToken: false}, {name: 'q'})).spec!.volumes, undefined);
});

const secretUses: readonly [string, Partial<PodSpec>, string][] = [
  [
    'volume',
    {volumes: [{name: 'v', secret: {secretName: 's'}}]},
    'volume with secret.secretName="s" is not allowed because service account strict does not reference that secret',
  ],
  [
    'variable',
    {containers: [{name: 'c', image: 'i', env: [{name: 'E', valueFrom: {secretKeyRef: {name: 's', key: 'k'}}}]}]},
    'container c with envVar E referencing secret.secretName="s" is not allowed because service account strict does not reference that secret',
  ],
  [
    'environment',
    {initContainers: [{name: 'n', image: 'i', envFrom: [{secretRef: {name: 's'}}]}]},
    'init container n with envFrom referencing secret.secretName="s" is not allowed because service account strict does not reference that secret',
  ],
  [
    'pull secret',
    {imagePullSecrets: [{name: 's'}]},
    'imagePullSecrets[0].name="s" is not allowed because service account strict does not reference that imagePullSecret',
  ],
];

test('an account may hold its pods to the secrets it names, and mirrors of static pods use none', async t => {
  const {of, pod} = await startWith('ServiceAccount');
  await of(kinds.serviceAccounts).create({
    metadata: {name: 'strict', namespace, annotations: {'plat.io/enforce-mountable-secrets': 'true'}},
  });

  for (const [title, spec, expected] of secretUses) t.is(await why(pod({serviceAccountName: 'strict', ...spec})), expected, title);
  const mirror = {annotations: {'plat.io/config.mirror': 'x'}};
  t.is(await why(pod({serviceAccountName: 'strict'}, mirror)), 'a mirror pod may not reference service accounts');
  t.is(await why(pod(secretUses[0]![1], mirror)), 'a mirror pod may not reference secrets');
});

test('a bound token names the node of its pod, gets an extended life from admission, and is invalid after the pod is deleted', async t => {
  const signed: object[] = [];
  const tokens = {audiences: ['here'], maxSeconds: 0, extends: true, sign: (claims: object) => (signed.push(claims), 'token')};
  const {startEnvironment} = await import('#test/resources/environment.js');
  const {of} = await startEnvironment({tokens});
  const account = await of(kinds.serviceAccounts).create({metadata: {name: 'robot', namespace}});
  const pod = await of(kinds.pods).create(aPod({serviceAccountName: 'robot', nodeName: 'one'}));
  const node = await of(kinds.nodes).create({metadata: {name: 'one'}});
  const ask = (name: string, expirationSeconds: number) =>
    of(kinds.serviceAccounts).create(
      {metadata: {namespace}, spec: {expirationSeconds, boundObjectRef: {apiVersion: 'v1', kind: 'Pod', name: 'p'}}} as never,
      {subresource: 'token', name, namespace},
    );

  const made = (await ask('robot', 3607)) as {spec?: {expirationSeconds?: number}};
  const [claims] = signed as [{iat: number; exp: number; 'plat.io': {warnafter: number}}];
  t.is(made.spec!.expirationSeconds, 3607);
  t.is(claims.exp - claims.iat, 365 * 24 * 3600);
  t.like(claims['plat.io'], {
    serviceaccount: {name: 'robot', uid: account.metadata!.uid},
    pod: {name: 'p', uid: pod.metadata!.uid},
    node: {name: 'one', uid: node.metadata!.uid},
    warnafter: claims.iat + 3607,
  });
  await of(kinds.serviceAccounts).create({metadata: {name: 'other', namespace}});
  t.is(await why(ask('other', 3600)), 'cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.');
});

test('a pod has the priority of its class, or of the default one', async t => {
  const {of, pod} = await startWith('Priority');
  const classes = of(kinds.priorityClasses);
  t.like((await pod()).spec, {priority: 0, preemptionPolicy: 'PreemptLowerPriority'});
  await classes.create({metadata: {name: 'high'}, value: 1000, preemptionPolicy: 'Never'});
  await classes.create({metadata: {name: 'usual'}, value: 5, globalDefault: true});

  t.like((await pod({}, {name: 'q'})).spec, {priority: 5, priorityClassName: 'usual'});
  t.like((await pod({priorityClassName: 'high'}, {name: 'r'})).spec, {priority: 1000, preemptionPolicy: 'Never'});
  t.is(await why(pod({priorityClassName: 'nope'})), 'no PriorityClass with name nope was found');
  t.is(
    await why(pod({priorityClassName: 'high', priority: 1})),
    'the integer value of priority (1) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name',
  );
  t.is(
    (await refusal(classes.create({metadata: {name: 'two'}, value: 6, globalDefault: true}))).message,
    'priorityclasses.scheduling.plat.io "two" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
  );
});

test('a pod tolerates a not ready or unreachable node for a time, unless it has such a toleration', async t => {
  const {pod} = await startWith('DefaultTolerationSeconds', {tolerationSeconds: {notReady: 10, unreachable: 20}});

  t.deepEqual((await pod()).spec!.tolerations, [
    {key: 'node.plat.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 10},
    {key: 'node.plat.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 20},
  ]);
  t.is((await pod({tolerations: [{operator: 'Exists'}]}, {name: 'q'})).spec!.tolerations!.length, 1);
});

test('a new node is tainted once', async t => {
  const {of} = await startWith('TaintNodesByCondition');
  const taint = {key: 'node.plat.io/not-ready', effect: 'NoSchedule'};

  t.deepEqual((await of(kinds.nodes).create({metadata: {name: 'a'}})).spec!.taints, [taint]);
  t.deepEqual((await of(kinds.nodes).create({metadata: {name: 'b'}, spec: {taints: [taint]}})).spec!.taints, [taint]);
});

test('a class of runtimes gives pods their overhead and place', async t => {
  const {of, pod} = await startWith('RuntimeClass');
  await of(kinds.runtimeClasses).create({
    metadata: {name: 'vm'},
    handler: 'vm',
    overhead: {podFixed: {cpu: '100m'}},
    scheduling: {nodeSelector: {kind: 'vm'}, tolerations: [{key: 'vm', operator: 'Exists', effect: 'NoSchedule'}]},
  });

  t.like((await pod({runtimeClassName: 'vm'})).spec, {
    overhead: {cpu: '100m'},
    nodeSelector: {kind: 'vm'},
    tolerations: [{key: 'vm', operator: 'Exists', effect: 'NoSchedule'}],
  });
  t.is(await why(pod({runtimeClassName: 'none'})), 'pod rejected: RuntimeClass "none" not found');
  t.like(await refusal(pod({runtimeClassName: 'a/b'})), {code: 500, message: 'invalid resource name "a/b": [may not contain \'/\']'});
  t.like(await refusal(pod({runtimeClassName: ''})), {code: 500, message: 'resource name may not be empty'});
  t.is(
    await why(pod({runtimeClassName: 'vm', overhead: {cpu: '1'}})),
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  );
  for (const overhead of [{cpu: '1'}, {}])
    t.is(await why(pod({overhead})), 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
  t.is(
    await why(pod({runtimeClassName: 'vm', nodeSelector: {kind: 'x'}})),
    'conflict: runtimeClass.scheduling.nodeSelector[kind] = vm; pod.spec.nodeSelector[kind] = x',
  );
});

test('pods and bindings learn the zone and region of their node', async t => {
  const labels = {'topology.plat.io/zone': 'z', 'topology.plat.io/region': 'r', 'topology.plat.io/rack': '1'};
  const plugin = podTopologyLabels({
    ...aPluginContext({gate: () => true}),
    reader: {get: () => ({metadata: {labels}}) as never, list: () => Promise.resolve([])},
  });
  const address = {
    operation: 'CREATE',
    group: '',
    version: 'v1',
    resource: 'pods',
    kind: 'Pod',
    namespaced: true,
    namespace,
    name: 'p',
    user: jane,
    dryRun: false,
    warn() {},
  } as const;
  const binding: Binding = {target: {kind: 'Node', name: 'one'}};
  const pod = aPod({nodeName: 'one'}, {labels: {own: 'x'}});
  const waiting = aPod();
  await plugin.admit!({...address, subresource: 'binding', object: binding});
  await plugin.admit!({...address, subresource: '', object: pod});
  await plugin.admit!({...address, subresource: '', object: waiting});

  const {'topology.plat.io/rack': _, ...known} = labels;
  t.deepEqual(binding.metadata!.labels, known);
  t.deepEqual(pod.metadata!.labels, {own: 'x', ...known});
  t.is(waiting.metadata!.labels, undefined);
});

test('every image is pulled always', async t => {
  const {pod} = await startWith('AlwaysPullImages');

  t.is((await pod({containers: [{name: 'c', image: 'i:1', imagePullPolicy: 'Never'}]})).spec!.containers[0]!.imagePullPolicy, 'Always');
});

test('required distance is between nodes alone', async t => {
  const {pod} = await startWith('LimitPodHardAntiAffinityTopology');
  const far = (topologyKey: string): Partial<PodSpec> => ({
    affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey, labelSelector: {matchLabels: {a: 'b'}}}]}},
  });

  t.is((await pod(far('plat.io/hostname'))).metadata!.name, 'p');
  t.is(
    await why(pod(far('zone'), {name: 'p'})),
    'affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key plat.io/hostname is allowed',
  );
});

const annotated = async (t: Awaited<ReturnType<typeof startWith>>, annotations: Record<string, string>): Promise<void> => {
  await t.of(kinds.namespaces).patch(namespace, 'merge', {metadata: {annotations}});
};

test('a namespace sets the node selector of its pods', async t => {
  const env = await startWith('PodNodeSelector');
  await annotated(env, {'scheduler.alpha.plat.io/node-selector': 'disk=fast,zone=z'});

  t.deepEqual((await env.pod({nodeSelector: {own: 'x'}})).spec!.nodeSelector, {disk: 'fast', zone: 'z', own: 'x'});
  t.is(await why(env.pod({nodeSelector: {disk: 'slow'}})), 'pod node label selector conflicts with its namespace node label selector');
});

test('a namespace sets the tolerations of its pods', async t => {
  const env = await startWith('PodTolerationRestriction');
  const one = {key: 'a', operator: 'Exists', effect: 'NoSchedule'};
  await annotated(env, {
    'scheduler.alpha.plat.io/defaultTolerations': JSON.stringify([one]),
    'scheduler.alpha.plat.io/tolerationsWhitelist': JSON.stringify([{key: 'a', operator: 'Exists'}]),
  });

  t.deepEqual((await env.pod()).spec!.tolerations, [one]);
  t.like(await refusal(env.pod({tolerations: [{key: 'b', operator: 'Exists'}]})), {
    code: 500,
    message: 'pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist',
  });
});

test('a pod that requests an extended resource tolerates its taint', async t => {
  const {pod} = await startWith('ExtendedResourceToleration');
  const resources = {limits: {'example.com/gpu': '1', cpu: '1'}, requests: {'example.com/gpu': '1', cpu: '1'}};

  t.deepEqual((await pod({containers: [{name: 'c', image: 'i', resources}]})).spec!.tolerations, [
    {key: 'example.com/gpu', operator: 'Exists', effect: 'NoSchedule'},
  ]);
});

test('events pass until a bucket is empty', async t => {
  const clock = new VirtualClock();
  const plugin = eventRateLimit(
    [
      {type: 'Namespace', qps: 1, burst: 2},
      {type: 'Server', qps: 100, burst: 100},
    ],
    clock,
  );
  const event = {
    operation: 'CREATE',
    group: '',
    version: 'v1',
    resource: 'events',
    subresource: '',
    kind: 'Event',
    namespaced: true,
    namespace,
    name: 'e',
    object: {},
    user: jane,
    warn() {},
  } as const;
  const passes = (dryRun = false): unknown => t.notThrows(() => plugin.validate!({...event, dryRun}));
  passes();
  passes();
  passes(true);

  t.throws(() => plugin.validate!({...event, dryRun: false}), {message: 'limit reached on type Namespace for key default'});
  await clock.advance(1000);
  passes();
});

test('an updated pod keeps the fields that admission set', async t => {
  const {of, pod} = await startWith('Priority');
  await pod();
  const changed = await of(kinds.pods).patch('p', 'merge', {metadata: {labels: {a: 'b'}}} satisfies Pod, {namespace});

  t.is(changed.spec!.priority, 0);
});
