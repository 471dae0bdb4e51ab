import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Status} from '#src/api/status.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {samples} from './samples.js';
import {
  type List,
  aNamespace,
  get,
  ok,
  patch,
  plane,
  post,
  put,
  refused,
  remove,
  settle,
  strategic,
  summariesOf,
  watch,
  within,
} from './conformance-plane.js';

test.after.always(() => plane.stop());

const aDeployment = (fields: string, metadata = ''): string =>
  `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"my-dep",${metadata}"labels":{"app":"nginx"}},"spec":{${fields}"selector":{"matchLabels":{"app":"nginx"}},"template":{"metadata":{"labels":{"app":"nginx"}},"spec":{"containers":[{"name":"nginx","image":"nginx:latest"}]}}}}`;

const faults = '"unknownField":"foo","replicas":2,"replicas":3,';
const bothFaults = 'strict decoding error: unknown field "spec.unknownField", duplicate field "spec.replicas"';

test.serial('strict field validation reports every unknown and duplicate field for all kinds of writes', async t => {
  const deployments = within(await aNamespace(), 'deployments', 'apps/v1');
  const item = `${deployments}/my-dep`;
  const strict = 'fieldManager=mgr&fieldValidation=Strict';
  t.true(refused(t, await post(`${deployments}?${strict}`, aDeployment(faults)), 400, 'BadRequest').endsWith(bothFaults));
  t.true(
    refused(t, await post(`${deployments}?${strict}`, aDeployment('', '"unknownMeta":"foo",')), 400, 'BadRequest').endsWith(
      'strict decoding error: unknown field "metadata.unknownMeta"',
    ),
  );

  ok(t, await post(`${deployments}?${strict}`, aDeployment('')), 201);
  t.true(refused(t, await put(`${item}?${strict}`, aDeployment(faults)), 400, 'BadRequest').endsWith(bothFaults));
  t.true(
    refused(t, await patch(`${item}?${strict}`, `{"spec":{${faults.slice(0, -1)}}}`), 422, 'Invalid').includes(
      'duplicate field "spec.replicas", unknown field "spec.unknownField"',
    ),
  );
  t.true(
    refused(t, await patch(`${item}?${strict}`, '{"spec":{"unknownField":"foo"}}', strategic), 422, 'Invalid').includes(
      'unknown field "spec.unknownField"',
    ),
  );
  const intent = await patch(`${item}?${strict}`, aDeployment('"unknownField":"foo",'), {
    headers: {'content-type': 'application/apply-patch+yaml'},
  });
  t.regex(intent.json<Status>().message ?? '', /\.spec\.unknownField: field not declared in schema/);
});

test.serial('a request is approved and signed through its own parts, and no condition is lost between them', async t => {
  const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const {spec} = samples(naming('kubernetes'))['CertificateSigningRequest'] as {spec: object};
  const {metadata} = ok(
    t,
    await post(csrs, {metadata: {generateName: 'e2e-example-csr-'}, spec: {...spec, expirationSeconds: 3600}}),
    201,
  ).json();
  const item = `${csrs}/${metadata!.name}`;
  type Request = KubeObject & {status: {conditions: object[]}};
  t.is((await get(`${csrs}?fieldSelector=spec.signerName=example.com/signer`)).json<List>().items.length, 1);
  t.like((await get(`${item}/approval`)).json(), {
    kind: 'CertificateSigningRequest',
    apiVersion: 'certificates.k8s.io/v1',
    metadata: {uid: metadata!.uid!},
  });
  const patched = ok(
    t,
    await patch(`${item}/approval`, {
      metadata: {annotations: {patchedapproval: 'true'}},
      status: {conditions: [{type: 'ApprovalPatch', status: 'True', reason: 'e2e'}]},
    }),
  ).json<Request>();
  t.is(patched.metadata?.annotations?.['patchedapproval'], 'true');
  t.like(patched.status.conditions, [{type: 'ApprovalPatch'}]);
  const approved = {
    ...patched,
    status: {conditions: [...patched.status.conditions, {type: 'Approved', status: 'True', reason: 'E2E', message: 'Set by a test'}]},
  };
  t.like(ok(t, await put(`${item}/approval`, approved)).json<Request>().status.conditions, [{type: 'ApprovalPatch'}, {type: 'Approved'}]);
  const stored = (await get(`${item}/status`)).json<Request>();
  const updated = ok(
    t,
    await put(`${item}/status`, {
      ...stored,
      status: {conditions: [...stored.status.conditions, {type: 'StatusUpdate', status: 'True', reason: 'E2E'}]},
    }),
  ).json<Request>();
  t.like(updated.status.conditions, [{type: 'ApprovalPatch'}, {type: 'Approved'}, {type: 'StatusUpdate'}]);
  ok(t, await remove(`${csrs}?fieldSelector=spec.signerName=example.com/signer`));
});

test.serial('a service account is created, found, watched, updated with automount, and deleted by label', async t => {
  const namespace = await aNamespace();
  const accounts = within(namespace, 'serviceaccounts');
  using stream = await watch(`${accounts}?watch=1&labelSelector=testserviceaccountlabel=yes`);
  const made = ok(t, await post(accounts, {metadata: {name: 'testserviceaccount', labels: {testserviceaccountlabel: 'yes'}}}), 201).json();
  ok(t, await patch(`${accounts}/testserviceaccount`, {automountServiceAccountToken: false}, strategic));
  const {items} = (await get('/api/v1/serviceaccounts?labelSelector=testserviceaccountlabel=yes')).json<
    KubeList<KubeObject & {automountServiceAccountToken: boolean}>
  >();
  t.deepEqual(
    items.map(({metadata, automountServiceAccountToken}) => [metadata!.name, automountServiceAccountToken]),
    [['testserviceaccount', false]],
  );
  t.is(
    ok(
      t,
      await put(`${accounts}/testserviceaccount`, {
        ...made,
        metadata: {...made.metadata, resourceVersion: ''},
        automountServiceAccountToken: true,
      }),
    ).json<{automountServiceAccountToken: boolean}>().automountServiceAccountToken,
    true,
  );
  ok(t, await remove(`${accounts}?labelSelector=testserviceaccountlabel=yes`));

  t.deepEqual(await summariesOf(stream), [
    'ADDED testserviceaccount',
    'MODIFIED testserviceaccount',
    'MODIFIED testserviceaccount',
    'DELETED testserviceaccount',
  ]);
  t.deepEqual(
    (await get(accounts)).json<List>().items.map(({metadata}) => metadata!.name),
    ['default'],
  );
});

test.serial('the bundle of the cluster is in each namespace, and comes back when it is deleted or changed', async t => {
  const bundle = within(await aNamespace(), 'configmaps/kube-root-ca.crt');
  const data = async () => (await get(bundle)).json<{data?: object}>().data;
  const published = await data();
  t.deepEqual(Object.keys(published ?? {}), ['ca.crt']);

  ok(t, await remove(bundle));
  await settle();
  t.deepEqual(await data(), published);
  ok(t, await put(bundle, {metadata: {name: 'kube-root-ca.crt'}, data: {'ca.crt': ''}}));
  await settle();
  t.deepEqual(await data(), published);
});

/** Automount of the account, of the pod, and whether a token is mounted. */
const mounts: readonly [boolean | undefined, boolean | undefined, boolean][] = [
  [undefined, undefined, true],
  [true, undefined, true],
  [false, undefined, false],
  [undefined, true, true],
  [true, true, true],
  [false, true, true],
  [undefined, false, false],
  [true, false, false],
  [false, false, false],
];

test.serial('automount of a token in a pod overrides that of its account', async t => {
  const namespace = await aNamespace();
  for (const [index, [ofAccount, ofPod, mounted]] of mounts.entries()) {
    const serviceAccountName = `account-${index}`;
    await post(within(namespace, 'serviceaccounts'), {metadata: {name: serviceAccountName}, automountServiceAccountToken: ofAccount});
    const pod = ok(
      t,
      await post(within(namespace, 'pods'), {
        metadata: {name: `pod-${index}`},
        spec: {serviceAccountName, automountServiceAccountToken: ofPod, containers: [{name: 'c', image: 'i'}]},
      }),
      201,
    );
    const {containers} = pod.json<{spec: {containers: {volumeMounts?: {mountPath: string}[]}[]}}>().spec;
    t.deepEqual(
      containers[0]!.volumeMounts?.map(({mountPath}) => mountPath),
      mounted ? ['/var/run/secrets/kubernetes.io/serviceaccount'] : undefined,
      `${ofAccount} ${ofPod}`,
    );
  }
});

test.serial('an access review returns the permissions of its subject', async t => {
  const namespace = await aNamespace();
  const name = `system:serviceaccount:${namespace}:e2e`;
  const user = {name, groups: ['system:serviceaccounts', 'system:authenticated']};
  await post(within(namespace, 'serviceaccounts'), {metadata: {name: 'e2e'}});
  const resourceAttributes = {namespace, verb: 'list', resource: 'configmaps'};
  const reviews: readonly [path: string, body: object][] = [
    ['/apis/authorization.k8s.io/v1/subjectaccessreviews', {spec: {user: name, groups: user.groups, resourceAttributes}}],
    [
      within(namespace, 'localsubjectaccessreviews', 'authorization.k8s.io/v1'),
      {metadata: {namespace}, spec: {user: name, groups: user.groups, resourceAttributes}},
    ],
  ];
  const answers = async () => {
    const stored = await Promise.all(
      reviews.map(async ([path, body]) => ok(t, await post(path, body), 201).json<{status: {allowed: boolean}}>().status.allowed),
    );
    return [
      ...stored,
      (await get(within(namespace, 'configmaps'), {headers: {'impersonate-user': name, 'impersonate-group': user.groups}})).status,
    ];
  };
  t.deepEqual(await answers(), [false, false, 403]);

  await post(within(namespace, 'rolebindings', 'rbac.authorization.k8s.io/v1'), {
    metadata: {name: 'view'},
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view'},
    subjects: [{kind: 'ServiceAccount', name: 'e2e', namespace}],
  });
  await settle();
  t.deepEqual(await answers(), [true, true, 200]);
});

test.serial('events of either group are one: a series is patched and put, a source selects, a label deletes', async t => {
  const namespace = await aNamespace();
  const [core, events] = [within(namespace, 'events'), within(namespace, 'events', 'events.k8s.io/v1')];
  const time = '2017-09-19T13:49:16.000000Z';
  ok(
    t,
    await post(events, {
      metadata: {name: 'event-test', labels: {constant: 'true'}},
      regarding: {namespace},
      eventTime: time,
      note: 'This is event-test',
      action: 'Do',
      reason: 'Test',
      type: 'Normal',
      reportingController: 'test-controller',
      reportingInstance: 'test-node',
    }),
    201,
  );
  for (const list of [
    `${core}?fieldSelector=source=test-controller`,
    `${events}?fieldSelector=reportingController=test-controller`,
    '/apis/events.k8s.io/v1/events?labelSelector=constant=true',
  ])
    t.is((await get(list)).json<List>().items.length, 1, list);
  const before = (await get(`${events}/event-test`)).json<KubeObject & {series?: object}>();
  ok(t, await patch(`${events}/event-test`, {series: {count: 2, lastObservedTime: '2017-09-19T13:49:11.000000Z'}}, strategic));
  const put1 = ok(
    t,
    await put(`${events}/event-test`, {
      ...before,
      metadata: {...before.metadata, resourceVersion: '', managedFields: []},
      series: {count: 100, lastObservedTime: time},
    }),
  ).json<typeof before>();
  const {metadata: _, ...rest} = put1;
  const {metadata: __, ...made} = before;
  t.deepEqual(rest, {...made, series: {count: 100, lastObservedTime: time}});

  ok(
    t,
    await post(core, {
      metadata: {name: 'old', labels: {constant: 'true'}},
      involvedObject: {namespace},
      reason: 'Test',
      message: 'This is a test event',
      type: 'Normal',
      count: 1,
    }),
    201,
  );
  t.is(
    ok(t, await patch(`${core}/old`, {message: 'This is a test event - patched'}, strategic)).json<{message: string}>().message,
    'This is a test event - patched',
  );
  ok(t, await remove(`${events}?labelSelector=constant=true`));
  t.deepEqual((await get(`${core}?labelSelector=constant=true`)).json<List>().items, []);
});

test.serial('a lease is held, renewed with every digit of its time, and taken over', async t => {
  const leases = within(await aNamespace(), 'leases', 'coordination.k8s.io/v1');
  const spec = {
    holderIdentity: 'holder',
    leaseDurationSeconds: 30,
    acquireTime: '2026-01-01T00:00:00.000002Z',
    renewTime: '2026-01-01T00:00:05.000000Z',
    leaseTransitions: 0,
  };
  const made = ok(t, await post(leases, {metadata: {name: 'lease'}, spec}), 201).json<KubeObject & {spec: object}>();
  t.deepEqual(made.spec, spec);
  const taken = {...spec, holderIdentity: 'other', leaseDurationSeconds: 45, leaseTransitions: 1};
  t.deepEqual(ok(t, await put(`${leases}/lease`, {...made, spec: taken})).json<typeof made>().spec, taken);
  t.deepEqual(
    ok(t, await patch(`${leases}/lease`, {spec: {leaseDurationSeconds: 60, acquireTime: null}}, strategic)).json<typeof made>().spec,
    {holderIdentity: 'other', leaseDurationSeconds: 60, renewTime: spec.renewTime, leaseTransitions: 1},
  );
});

test.serial('a pod of a missing runtime class is refused, and gets the overhead of its class', async t => {
  const namespace = await aNamespace();
  const classes = '/apis/node.k8s.io/v1/runtimeclasses';
  const run = (runtimeClassName: string) =>
    post(within(namespace, 'pods'), {metadata: {generateName: 'run-'}, spec: {runtimeClassName, containers: [{name: 'c', image: 'i'}]}});
  await post(classes, {metadata: {name: 'costly'}, handler: 'h', overhead: {podFixed: {cpu: '10m', memory: '1Mi'}}});
  await post(classes, {metadata: {name: 'free'}, handler: 'h'});

  t.regex(refused(t, await run('nonexistent'), 403, 'Forbidden'), /pod rejected: RuntimeClass "nonexistent" not found/);
  t.deepEqual(ok(t, await run('costly'), 201).json<{spec: {overhead?: object}}>().spec.overhead, {cpu: '10m', memory: '1Mi'});
  t.is(ok(t, await run('free'), 201).json<{spec: {overhead?: object}}>().spec.overhead, undefined);
  for (const name of ['costly', 'free']) await remove(`${classes}/${name}`);
  refused(t, await run('free'), 403, 'Forbidden');
});

test.serial('bags of data have keys, and stay as they are once they are immutable', async t => {
  const namespace = await aNamespace();
  for (const [plural, data, other] of [
    ['configmaps', {'data-1': 'value-1'}, {'data-1': 'value-2'}],
    ['secrets', {'data-1': 'dmFsdWUtMQ=='}, {'data-1': 'dmFsdWUtMg=='}],
  ] as const) {
    const bags = within(namespace, plural);
    refused(t, await post(bags, {metadata: {name: 'empty'}, data: {'': Object.values(data)[0]}}), 422, 'Invalid');
    const made = ok(t, await post(bags, {metadata: {name: 'bag'}, data}), 201).json();
    const changed = ok(t, await put(`${bags}/bag`, {...made, data: other})).json();
    const fixed = ok(t, await put(`${bags}/bag`, {...changed, immutable: true})).json();
    for (const body of [
      {...fixed, data},
      {...fixed, immutable: false},
    ])
      refused(t, await put(`${bags}/bag`, body), 422, 'Invalid');
    ok(t, await put(`${bags}/bag`, {...fixed, metadata: {...fixed.metadata, labels: {label1: 'value1'}}}));
    ok(t, await remove(`${bags}/bag`));
  }
});

test.serial('a limit range gives pods default requests, and refuses pods beyond it', async t => {
  const namespace = await aNamespace();
  const limits = {
    type: 'Container',
    min: {cpu: '50m', memory: '100Mi'},
    max: {cpu: '500m', memory: '500Mi'},
    default: {cpu: '500m', memory: '500Mi'},
    defaultRequest: {cpu: '100m', memory: '200Mi'},
  };
  ok(t, await post(within(namespace, 'limitranges'), {metadata: {name: 'limits'}, spec: {limits: [limits]}}), 201);
  const run = (resources: object) =>
    post(within(namespace, 'pods'), {metadata: {generateName: 'pod-'}, spec: {containers: [{name: 'c', image: 'i', resources}]}});
  const requested = async (resources: object) =>
    ok(t, await run(resources), 201).json<{spec: {containers: {resources: object}[]}}>().spec.containers[0]!.resources;

  t.deepEqual(await requested({}), {limits: limits.default, requests: limits.defaultRequest});
  t.deepEqual(await requested({requests: {cpu: '300m'}, limits: {cpu: '300m'}}), {
    limits: {cpu: '300m', memory: '500Mi'},
    requests: {cpu: '300m', memory: '200Mi'},
  });
  refused(t, await run({requests: {cpu: '10m', memory: '50Mi'}}), 403, 'Forbidden');
  refused(t, await run({requests: {cpu: '600m', memory: '600Mi'}, limits: {cpu: '600m', memory: '600Mi'}}), 403, 'Forbidden');
});

test.serial('pods are patched in their status, and deleted as a collection', async t => {
  const pods = within(await aNamespace(), 'pods');
  for (const name of ['a', 'b', 'c'])
    ok(
      t,
      await post(pods, {
        metadata: {name, labels: {type: 'Testing'}},
        spec: {schedulerName: 'nobody', containers: [{name: 'token-test', image: 'i'}]},
      }),
      201,
    );
  const status = {message: 'Patched by e2e test', reason: 'E2E'};
  t.like(ok(t, await patch(`${pods}/a/status`, {metadata: {annotations: {patched: 'true'}}, status}, strategic)).json(), {
    metadata: {annotations: {patched: 'true'}},
    status,
  } as object);

  ok(t, await remove(`${pods}?labelSelector=type=Testing&gracePeriodSeconds=1`));
  t.deepEqual((await get(`${pods}?labelSelector=type=Testing`)).json<List>().items, []);
});
