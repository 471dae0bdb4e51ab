import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Scale} from '#src/resources/autoscaling/scale.js';
import {warningsOf} from './warnings.js';
import {problems, refusal, startEnvironment} from './environment.js';
import {aSpec, aTemplate, namespace, type Deployment} from './workloads.js';

type StatefulSet = ObjectOf<typeof kinds.statefulSets>;
type DaemonSet = ObjectOf<typeof kinds.daemonSets>;

const aDeployment = (spec: Partial<Deployment['spec']> = {}): Deployment =>
  ({metadata: {name: 'd', namespace}, spec: {...aSpec(), ...spec}}) as Deployment;
const aStatefulSet = (spec: Partial<StatefulSet['spec']> = {}): StatefulSet =>
  ({metadata: {name: 's', namespace}, spec: {serviceName: 's', ...aSpec(), ...spec}}) as StatefulSet;
const aDaemonSet = (spec: Partial<DaemonSet['spec']> = {}): DaemonSet =>
  ({metadata: {name: 'ds', namespace}, spec: {...aSpec(), ...spec}}) as DaemonSet;

test('a deployment is filled in', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.deployments).create(aDeployment());

  t.like(made.spec, {
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    strategy: {type: 'RollingUpdate', rollingUpdate: {maxUnavailable: '25%', maxSurge: '25%'}},
  });
  t.is(made.metadata?.generation, 1);
  t.deepEqual(made.status, {});
});

const deploymentCases: [title: string, spec: Partial<Deployment['spec']>, expected: string[]][] = [
  ['has no fewer pods than none', {replicas: -1}, ['spec.replicas: Invalid value: -1: must be greater than or equal to 0']],
  [
    'selects its own pods',
    {selector: {matchLabels: {app: 'b'}}},
    ['spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`'],
  ],
  ['selects something', {selector: {}}, ['spec.selector: Invalid value: {}: empty selector is invalid for deployment']],
  [
    'is of a known strategy',
    {strategy: {type: 'Odd'}},
    ['spec.strategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"'],
  ],
  [
    'is of a known strategy, however it rolls',
    {strategy: {type: 'Odd', rollingUpdate: {maxSurge: 1}}},
    [
      'spec.strategy: Unsupported value: {"Type":"Odd","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}: supported values: "Recreate", "RollingUpdate"',
    ],
  ],
  [
    'rolls only when it rolls',
    {strategy: {type: 'Recreate', rollingUpdate: {}}},
    ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  ],
  [
    'moves when it rolls',
    {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}},
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0'],
  ],
  [
    'gives up no more than all',
    {strategy: {rollingUpdate: {maxUnavailable: '101%'}}},
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  ],
  [
    'counts in pieces or shares',
    {strategy: {rollingUpdate: {maxSurge: '5'}}},
    [
      "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"5\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ],
  ],
  [
    'waits longer than pods take',
    {minReadySeconds: 10, progressDeadlineSeconds: 10},
    ['spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds'],
  ],
  [
    'runs for ever',
    {template: aTemplate({restartPolicy: 'Never', activeDeadlineSeconds: 5})},
    [
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
    ],
  ],
];

for (const [title, spec, expected] of deploymentCases) {
  test(`a deployment ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.deployments).create(aDeployment(spec))), expected);
  });
}

test('a deployment keeps its selector', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.deployments).create(aDeployment());
  const selector = {matchLabels: {app: 'b'}};
  const template = {...made.spec!.template, metadata: {labels: {app: 'b'}}};

  t.deepEqual(await problems(of(kinds.deployments).update({...made, spec: {...made.spec!, selector, template}})), [
    'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable',
  ]);
});

test('the generation of a deployment counts changes of its spec and its annotations', async t => {
  const {of} = await startEnvironment();
  const deployments = of(kinds.deployments);
  const made = await deployments.create(aDeployment());
  const annotated = await deployments.update({...made, metadata: {...made.metadata, annotations: {a: 'b'}}});
  const labelled = await deployments.update({...annotated, metadata: {...annotated.metadata, labels: {a: 'b'}}});
  const reported = await deployments.update({...labelled, status: {replicas: 1}}, {subresource: 'status'});

  t.deepEqual(
    [annotated, labelled, reported].map(({metadata}) => metadata?.generation),
    [2, 2, 2],
  );
});

test('counts in the status of a deployment must add up, and its labels are left alone', async t => {
  const {of} = await startEnvironment();
  const deployments = of(kinds.deployments);
  const made = await deployments.create(aDeployment());
  const report = (status: Deployment['status']) =>
    deployments.update({...made, metadata: {...made.metadata, labels: {a: 'b'}}, ...(status ? {status} : {})}, {subresource: 'status'});

  t.deepEqual(await problems(report({replicas: 1, readyReplicas: 2, availableReplicas: 3, collisionCount: -1})), [
    'status.collisionCount: Invalid value: -1: must be greater than or equal to 0',
    'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
    'status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas',
    'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas',
  ]);
  t.is((await report({replicas: 1})).metadata?.labels, undefined);
});

test('a deployment of a name that hosts cannot have is warned of', async t => {
  const env = await startEnvironment();

  t.deepEqual(
    await warningsOf(env, client => client.resource(kinds.deployments).create({...aDeployment(), metadata: {name: 'a.b', namespace}})),
    [
      'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
    ],
  );
});

for (const [kind, object] of [
  [kinds.deployments, aDeployment()],
  [kinds.statefulSets, aStatefulSet()],
  [kinds.replicaSets, aDeployment()],
] as const) {
  test(`the size of ${kind.plural} is seen and set at their scale`, async t => {
    const {of} = await startEnvironment();
    const made = await of(kind as typeof kinds.deployments).create(object as Deployment);
    const name = made.metadata!.name!;
    const scales = of(kind as typeof kinds.deployments) as unknown as ReturnType<typeof of<Scale>>;
    const seen = await scales.get(name, {namespace, subresource: 'scale'});

    t.like(seen, {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: {name, uid: made.metadata!.uid},
      spec: {replicas: 1},
      status: {replicas: 0, selector: 'app=a'},
    });

    const set = await scales.update({...seen, spec: {replicas: 3}}, {subresource: 'scale'});
    const stored = await of(kind as typeof kinds.deployments).get(name, {namespace});
    t.is(set.spec?.replicas, 3);
    t.is(stored.spec?.replicas, 3);
    t.is(stored.metadata?.generation, 2);

    t.is((await refusal(scales.update({...seen, spec: {replicas: 4}}, {subresource: 'scale'}))).reason, 'Conflict');
    t.like(await refusal(scales.update({...set, spec: {replicas: -1}}, {subresource: 'scale'})), {
      code: 422,
      message: `Scale.autoscaling "${name}" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`,
    });
    const patched = await scales.patch(name, 'merge', {spec: {replicas: 0}}, {namespace, subresource: 'scale'});
    t.deepEqual(patched.spec, {});
    t.is((await of(kind as typeof kinds.deployments).get(name, {namespace})).spec?.replicas, 0);
  });
}

test('a stateful set is filled in, its claims too', async t => {
  const {of} = await startEnvironment();
  const volumeClaimTemplates = [
    {metadata: {name: 'data'}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}}},
  ];
  const made = await of(kinds.statefulSets).create(
    aStatefulSet({
      volumeClaimTemplates,
      template: aTemplate({containers: [{name: 'c', image: 'i', volumeMounts: [{name: 'data', mountPath: '/data'}]}]}),
    }),
  );

  t.like(made.spec, {
    replicas: 1,
    podManagementPolicy: 'OrderedReady',
    revisionHistoryLimit: 10,
    updateStrategy: {type: 'RollingUpdate', rollingUpdate: {partition: 0}},
    persistentVolumeClaimRetentionPolicy: {whenDeleted: 'Retain', whenScaled: 'Retain'},
  });
  t.like(made.spec?.volumeClaimTemplates?.[0], {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    spec: {volumeMode: 'Filesystem'},
    status: {phase: 'Pending'},
  });
});

const statefulSetCases: [title: string, spec: Partial<StatefulSet['spec']>, expected: string[]][] = [
  [
    'is of a known order',
    {podManagementPolicy: 'Odd'},
    ["spec.podManagementPolicy: Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'"],
  ],
  [
    'is updated in a known way',
    {updateStrategy: {type: 'Odd'}},
    ['spec.updateStrategy: Invalid value: {"Type":"Odd","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\''],
  ],
  [
    'gives up some',
    {updateStrategy: {type: 'RollingUpdate', rollingUpdate: {maxUnavailable: 0}}},
    ['spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0'],
  ],
  [
    'keeps claims or deletes them',
    {persistentVolumeClaimRetentionPolicy: {whenDeleted: 'Odd'}},
    ['spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Odd": supported values: "Retain", "Delete"'],
  ],
  ['starts somewhere', {ordinals: {start: -1}}, ['spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0']],
  [
    'mounts existing volumes',
    {template: aTemplate({containers: [{name: 'c', image: 'i', volumeMounts: [{name: 'data', mountPath: '/data'}]}]})},
    ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'],
  ],
];

for (const [title, spec, expected] of statefulSetCases) {
  test(`a stateful set ${title}`, async t => {
    const {of} = await startEnvironment({gate: () => true});

    t.deepEqual(await problems(of(kinds.statefulSets).create(aStatefulSet(spec))), expected);
  });
}

test('a stateful set may change in some ways only', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.statefulSets).create(aStatefulSet());

  await t.notThrowsAsync(
    of(kinds.statefulSets).update({...made, spec: {...made.spec!, replicas: 2, minReadySeconds: 1, revisionHistoryLimit: 1}}),
  );
  const {resourceVersion: _, ...metadata} = made.metadata!;
  t.deepEqual(await problems(of(kinds.statefulSets).update({...made, metadata, spec: {...made.spec!, serviceName: 'other'}})), [
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  ]);
});

test('a daemon set is filled in and counts its templates', async t => {
  const {of} = await startEnvironment();
  const counted = ({metadata}: DaemonSet) => metadata?.annotations?.['deprecated.daemonset.template.generation'];
  const made = await of(kinds.daemonSets).create(aDaemonSet());
  const same = await of(kinds.daemonSets).update({
    ...made,
    metadata: {...made.metadata, annotations: {}},
    spec: {...made.spec!, minReadySeconds: 1},
  });
  const other = await of(kinds.daemonSets).update({...same, spec: {...same.spec!, template: aTemplate({hostNetwork: true})}});

  t.like(made.spec, {updateStrategy: {type: 'RollingUpdate', rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}, revisionHistoryLimit: 10});
  t.deepEqual([made, same, other].map(counted), ['1', '1', '2']);
  t.deepEqual(
    [made, same, other].map(({metadata}) => metadata?.generation),
    [1, 2, 3],
  );
});

test('a part that is there but empty is a change of a template', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.daemonSets).create(aDaemonSet());
  const changed = await of(kinds.daemonSets).update({...made, spec: {...made.spec!, template: aTemplate({affinity: {}})}});

  t.is(changed.metadata?.annotations?.['deprecated.daemonset.template.generation'], '2');
});

const daemonSetCases: [title: string, spec: Partial<DaemonSet['spec']>, expected: string[]][] = [
  [
    'grows or gives up, not both',
    {updateStrategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}},
    ['spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero'],
  ],
  [
    'grows or gives up',
    {updateStrategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}},
    ['spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0'],
  ],
  [
    'is updated in a known way',
    {updateStrategy: {type: 'Odd'}},
    ['spec.updateStrategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"'],
  ],
];

const half = {spec: {accessModes: [], resources: {requests: {storage: '1500m'}}}};

test('claims of a stateful set are validated on creation, and warned of on updates', async t => {
  const env = await startEnvironment();
  const sets = env.of(kinds.statefulSets);
  const volumeClaimTemplates = [
    {metadata: {name: 'data'}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1500m'}}}},
  ];
  const text = 'resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer';

  t.deepEqual(await problems(sets.create(aStatefulSet({volumeClaimTemplates: [{metadata: {name: 'data'}, ...half}]}))), [
    'spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required',
  ]);
  t.deepEqual(await warningsOf(env, client => client.resource(kinds.statefulSets).create(aStatefulSet({volumeClaimTemplates}))), [
    `spec.volumeClaimTemplates[0].${text}`,
  ]);
  const made = await sets.get('s', {namespace});
  t.deepEqual(await warningsOf(env, client => client.resource(kinds.statefulSets).update({...made, spec: {...made.spec!, replicas: 2}})), [
    `spec.volumeClaimTemplates[0].Spec.${text}`,
  ]);
});

test('names in the template of a stateful set are its own to give', async t => {
  const {of} = await startEnvironment();

  await t.notThrowsAsync(of(kinds.statefulSets).create(aStatefulSet({template: aTemplate({hostname: 'NO', subdomain: 'NO'})})));
});

test('an update of a daemon set is validated once, its selector first', async t => {
  const env = await startEnvironment();
  const sets = env.of(kinds.daemonSets);
  const made = await sets.create(aDaemonSet());

  t.deepEqual(await problems(sets.update({...made, spec: {...made.spec!, selector: {matchLabels: {app: 'b'}}, minReadySeconds: -1}})), [
    'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable',
    'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
    'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
  ]);
  t.deepEqual(
    await warningsOf(env, client => client.resource(kinds.daemonSets).create({...aDaemonSet(), metadata: {name: 'a.b', namespace}})),
    [],
  );
});

for (const [title, spec, expected] of daemonSetCases) {
  test(`a daemon set ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.daemonSets).create(aDaemonSet(spec))), expected);
  });
}

test('a controller revision carries data that stay', async t => {
  const {of} = await startEnvironment();
  const revisions = of(kinds.controllerRevisions);
  const made = await revisions.create({metadata: {name: 'r', namespace}, revision: 1, data: {a: 1} as never});

  t.deepEqual(await problems(revisions.update({...made, data: {a: 2} as never})), ['data: Invalid value: {"a":2}: field is immutable']);
  t.deepEqual(await problems(revisions.create({metadata: {name: 'q', namespace}, revision: -1})), [
    'revision: Invalid value: -1: must be greater than or equal to 0',
    'data: Required value: data is mandatory',
  ]);
});

test('the tables of workloads show how far they are', async t => {
  const {row} = await startEnvironment();

  t.deepEqual(await row(kinds.deployments, aDeployment({replicas: 3})), {
    Name: 'd',
    Ready: '0/3',
    'Up-to-date': 0,
    Available: 0,
    Age: '<unknown>',
    Containers: 'c',
    Images: 'example.com/image:1',
    Selector: 'app=a',
  });
  t.like(await row(kinds.daemonSets, aDaemonSet()), {Desired: 0, 'Node Selector': '<none>', Selector: 'app=a'});
  t.like(await row(kinds.statefulSets, aStatefulSet({replicas: 2})), {Ready: '0/2'});
  const owner = {apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'x', uid: 'u', controller: true};
  t.like(await row(kinds.controllerRevisions, {metadata: {name: 'r', ownerReferences: [owner]}, revision: 2}), {
    Controller: 'daemonset.apps/x',
    Revision: 2,
  });
});

test('replica sets are found by their size', async t => {
  const {of} = await startEnvironment();
  await of(kinds.replicaSets).create(aDeployment() as never);

  t.is((await of(kinds.replicaSets).list({namespace, fieldSelector: 'status.replicas=0'})).items.length, 1);
  t.is((await of(kinds.replicaSets).list({namespace, fieldSelector: 'status.replicas=1'})).items.length, 0);
});
