import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Status} from '#src/api/status.js';
import {resources} from '#src/resources/builtin/index.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {refusal, startEnvironment} from './environment.js';

const here = {namespace: 'default'};
const template = (more: object = {}): Pod => ({
  metadata: {name: 'p', ...here, labels: {app: 'web'}},
  spec: {containers: [{name: 'c', image: 'nginx'}], ...more},
});

const start = async (pod: Pod = template()) => {
  const env = await startEnvironment({gate: name => name === 'PodTopologyLabelsAdmission'});
  const pods = env.of(kinds.pods);
  const made = await pods.create(pod);
  const post = (subresource: string, body: object) =>
    pods.create(body as Pod, {...here, subresource, name: 'p'}) as unknown as Promise<Status>;
  return {...env, pods, made, post};
};

const binding = {
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: {name: 'p', annotations: {why: 'room'}, labels: {zone: 'a'}},
  target: {kind: 'Node', name: 'n1'},
};

test('a binding gives a pod to a node, once', async t => {
  const {pods, post} = await start();
  const answer = await post('binding', binding);
  const bound = await pods.get('p', here);

  t.is(answer.status, 'Success');
  t.is(bound.spec?.nodeName, 'n1');
  t.is(bound.metadata?.annotations?.['why'], 'room');
  t.is(bound.metadata?.labels?.['zone'], 'a');
  t.deepEqual(
    bound.status?.conditions?.map(({lastTransitionTime, ...rest}) => [typeof lastTransitionTime, rest as unknown]),
    [['string', {type: 'PodScheduled', status: 'True', lastProbeTime: null}]],
  );
  const again = await refusal(post('binding', {...binding, target: {name: 'n2'}}));
  t.is(again.code, 409);
  t.is(again.message, 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"');
});

test('all bindings have an address of their own', async t => {
  const {of, pods} = await start();
  await of(kinds.bindings).create({...binding, metadata: {...binding.metadata, ...here}});

  t.is((await pods.get('p', here)).spec?.nodeName, 'n1');
});

for (const [what, body, code, message] of [
  ['another name', {...binding, metadata: {name: 'q'}}, 400, 'name in URL does not match name in Binding object'],
  ['no node', {...binding, target: {name: ''}}, 500, 'target.name: Required value'],
  [
    'another kind',
    {...binding, target: {kind: 'Pod', name: 'x'}},
    500,
    'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
  ],
  [
    'another uid',
    {...binding, metadata: {name: 'p', uid: 'other'}},
    409,
    /pods "p": StorageError: invalid object, Code: 4, Key: \/registry\/pods\/default\/p, .*UID in precondition: other/,
  ],
] as const) {
  test(`a binding with ${what} is refused`, async t => {
    const {post} = await start();
    const status = await refusal(post('binding', body));

    t.is(status.code, code);
    t.regex(status.message ?? '', typeof message === 'string' ? new RegExp(`^${message}$`) : message);
  });
}

test('a pod with gates is not bound', async t => {
  const {post} = await start(template({schedulingGates: [{name: 'example.com/wait'}]}));

  t.regex((await refusal(post('binding', binding))).message ?? '', /pod p has non-empty .spec.schedulingGates$/);
});

const eviction = {apiVersion: 'policy/v1', kind: 'Eviction', metadata: {name: 'p'}};

/** The budgets as far as evictions read and write them, where they are not served yet. */
const budgets = defineResource({
  kind: kinds.podDisruptionBudgets,
  metadata: {nameProblems: subdomainName, generation: true},
  main: {writes: {update: ['metadata', 'spec']}},
  subresources: {status: {writes: {update: ['metadata', 'status']}}},
});
const known = resources as (typeof resources)[number][];
if (!known.some(({kind}) => kind === kinds.podDisruptionBudgets)) known.push(budgets);

const running = async (ready: boolean, status: object, spec: object = {}) => {
  const env = await start(template({nodeName: 'n'}));
  await env.pods.update(
    {...env.made, status: {phase: 'Running', conditions: [{type: 'Ready', status: ready ? 'True' : 'False'}]}},
    {subresource: 'status'},
  );
  const ofBudgets = env.of(kinds.podDisruptionBudgets);
  const budget = await ofBudgets.create({
    metadata: {name: 'b', ...here},
    spec: {selector: {matchLabels: {app: 'web'}}, minAvailable: 1, ...spec},
  });
  await ofBudgets.update(
    {
      ...budget,
      status: {
        currentHealthy: 1,
        desiredHealthy: 1,
        expectedPods: 1,
        disruptionsAllowed: 0,
        observedGeneration: budget.metadata!.generation!,
        ...status,
      },
    },
    {subresource: 'status'},
  );
  return {...env, budgets: ofBudgets};
};

test('a pod that is not running is evicted whatever its budget', async t => {
  const {pods, post} = await start();

  t.is((await post('eviction', eviction)).status, 'Success');
  t.is((await refusal(pods.get('p', here))).code, 404);
});

test('an eviction of the version before is one too, of another it is none', async t => {
  const {pods, post} = await start();

  t.is(
    (await refusal(post('eviction', {...eviction, apiVersion: 'policy/v2'}))).message,
    'Eviction in version "v2" cannot be handled as a Eviction: no kind "Eviction" is registered for version "policy/v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
  );
  t.is((await post('eviction', {...eviction, apiVersion: 'policy/v1beta1'})).status, 'Success');
  t.is((await refusal(pods.get('p', here))).code, 404);
});

test('a budget without disruptions keeps its pods', async t => {
  const {post, pods} = await running(true, {});
  const status = await refusal(post('eviction', eviction));

  t.is(status.code, 429);
  t.is(status.message, "Cannot evict pod as it would violate the pod's disruption budget.");
  t.deepEqual(status.details?.causes, [
    {reason: 'DisruptionBudget', message: 'The disruption budget b needs 1 healthy pods and has 1 currently'},
  ]);
  t.false('retryAfterSeconds' in status.details!);
  t.is((await pods.get('p', here)).metadata?.deletionTimestamp, undefined);
});

test('a budget whose sync failed gives the reason', async t => {
  const conditions = [
    {
      type: 'DisruptionAllowed',
      status: 'False',
      reason: 'SyncFailed',
      message: 'found no controllers',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ];
  const {post} = await running(true, {conditions} as object);
  const status = await refusal(post('eviction', eviction));

  t.deepEqual(status.details?.causes, [
    {
      reason: 'DisruptionBudget',
      message: 'The disruption budget b does not allow evicting pods currently because it failed sync: found no controllers',
    },
  ]);
});

test('a budget with an empty selector is about every pod of its namespace', async t => {
  const {post} = await running(true, {}, {selector: {}});

  t.is((await refusal(post('eviction', eviction))).code, 429);
});

test('an eviction takes one disruption off the budget and lets the pod end', async t => {
  const {post, pods, budgets: ofBudgets} = await running(true, {disruptionsAllowed: 1});
  await post('eviction', eviction);
  const {status} = await ofBudgets.get('b', here);
  const pod = await pods.get('p', here);

  t.is(status?.disruptionsAllowed, 0);
  t.deepEqual(Object.keys(status?.disruptedPods ?? {}), ['p']);
  t.is(status?.conditions?.[0]?.reason, 'InsufficientPods');
  t.is(pod.metadata?.deletionGracePeriodSeconds, 30);
  t.deepEqual(pod.status?.conditions?.find(({type}) => type === 'DisruptionTarget')?.reason, 'EvictionByEvictionAPI');
});

test('a budget that was not synced yet answers 429', async t => {
  const {post} = await running(true, {disruptionsAllowed: 1, observedGeneration: 0});
  const status = await refusal(post('eviction', eviction));

  t.is(status.code, 429);
  t.is(status.details?.retryAfterSeconds, 10);
});

for (const [what, status, spec, goes] of [
  ['goes while enough others are healthy', {currentHealthy: 1}, {}, true],
  ['stays while too few are', {currentHealthy: 0}, {}, false],
  ['goes where the budget always lets it', {currentHealthy: 0}, {unhealthyPodEvictionPolicy: 'AlwaysAllow'}, true],
] as const) {
  test(`a pod that is not ready ${what}`, async t => {
    const {post} = await running(false, status, spec);
    const act = post('eviction', eviction);

    if (goes) t.is((await act).status, 'Success');
    else t.is((await refusal(act)).code, 429);
  });
}

const full: readonly (readonly [title: string, status: object, message: string])[] = [
  [
    'has too few',
    {
      currentHealthy: 0,
      conditions: [{type: 'DisruptionAllowed', status: 'False', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z'}],
    },
    'The disruption budget b needs 1 healthy pods and has 0 currently',
  ],
  [
    'has a reason',
    {
      currentHealthy: 2,
      conditions: [{type: 'DisruptionAllowed', status: 'False', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z'}],
    },
    'The disruption budget b does not allow evicting pods currently (R): m',
  ],
  ['has no reason', {currentHealthy: 2}, 'The disruption budget b does not allow evicting pods currently'],
];

for (const [title, status, message] of full) {
  test(`a budget that ${title} keeps its pods and gives a cause`, async t => {
    const {post} = await running(true, status);

    t.deepEqual((await refusal(post('eviction', eviction))).details?.causes, [{reason: 'DisruptionBudget', message}]);
  });
}

test('an eviction is of the pod that was meant', async t => {
  const {post, made} = await start();
  const refused = (deleteOptions: object) => refusal(post('eviction', {...eviction, deleteOptions}));

  t.is(
    (await refused({preconditions: {uid: 'u'}})).message,
    `Operation cannot be fulfilled on Pod "p": the UID in the precondition (u) does not match the UID in record (${made.metadata!.uid}). The object might have been deleted and then recreated`,
  );
  t.is(
    (await refused({preconditions: {resourceVersion: '1'}})).message,
    `Operation cannot be fulfilled on Pod "p": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${made.metadata!.resourceVersion}). The object might have been modified`,
  );
  t.is(
    (await refused({ignoreStoreReadErrorWithClusterBreakingPotential: true})).message,
    'Eviction.policy "p" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction, try after removing the option',
  );
});

test('two budgets are more than an eviction can obey', async t => {
  const {post, budgets: ofBudgets} = await running(true, {disruptionsAllowed: 1});
  await ofBudgets.create({metadata: {name: 'c', ...here}, spec: {selector: {matchLabels: {app: 'web'}}, minAvailable: 1}});

  const failure = await refusal(post('eviction', eviction));

  t.is(failure.code, 500);
  t.is(failure.message, 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.');
});

test('a trial eviction changes nothing', async t => {
  const {post, pods, budgets: ofBudgets} = await running(true, {disruptionsAllowed: 1});
  await post('eviction', {...eviction, deleteOptions: {dryRun: ['All']}});

  t.is((await ofBudgets.get('b', here)).status?.disruptionsAllowed, 1);
  t.is((await pods.get('p', here)).metadata?.deletionTimestamp, undefined);
});
