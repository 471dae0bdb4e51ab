import test from 'ava';
import {customKind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import {Discovery} from '#src/why/facts/discovery.js';
import {kinds, Situations} from './situations.js';

interface Custom extends KubeObject {
  spec?: object;
  status?: object;
}
const group = 'example.com';
const backups = customKind<Custom>({group, version: 'v1', kind: 'Backup', plural: 'backups'});
const gatewayGroup = 'gateway.networking.k8s.io';
const gateways = customKind<Custom>({group: gatewayGroup, version: 'v1', kind: 'Gateway', plural: 'gateways'});
const classes = customKind<Custom>({group: gatewayGroup, version: 'v1', kind: 'GatewayClass', plural: 'gatewayclasses', namespaced: false});

const definition = ({group: of, kind, plural, namespaced}: typeof backups, shortNames: string[] = []) => ({
  metadata: {name: `${plural}.${of as string}`, annotations: {'api-approved.kubernetes.io': 'https://example.com'}},
  spec: {
    group: of as string,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    names: {plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List`, shortNames},
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {status: {}},
        schema: {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}},
      },
    ],
  },
});

const at = await Situations.start(['deployment-controller', 'replicaset-controller']);
test.before(async () => {
  await at.create(kinds.customResourceDefinitions, definition(backups, ['bk']), definition(gateways, ['gtw']), definition(classes));
  await at.plane.clock.advance(10_000);
});
test.after.always(() => at[Symbol.asyncDispose]());

/** Creates a backup with a status, as its controller would. */
const aBackup = async (name: string, status?: object) => {
  await at.create(backups, {metadata: {name}, spec: {schedule: 'daily'}});
  if (status) await at.patch(backups, name, {status}, {subresource: 'status'});
};

test.serial('a custom resource of which nobody has written a status waits for its controller', async t => {
  await aBackup('new');

  t.deepEqual(await at.answer(backups, 'new'), [
    'Backup default/new is blocked: no controller has written a status of it.',
    'A controller of Backup that runs and may write its status.',
  ]);
});

test.serial('a custom resource that is stalled says why', async t => {
  await aBackup('stalled', {
    conditions: [
      {type: 'Ready', status: 'False', reason: 'Waiting'},
      {type: 'Stalled', status: 'True', reason: 'NoBucket', message: 'the bucket photos does not exist'},
    ],
  });

  t.deepEqual(await at.answer(backups, 'stalled'), [
    'Backup default/stalled is blocked: its condition Stalled is True: NoBucket: the bucket photos does not exist.',
    'Its controller, once it reports another condition.',
  ]);
});

test.serial('a custom resource whose controller has not seen its newest generation waits for it', async t => {
  await aBackup('stale', {observedGeneration: 1, conditions: [{type: 'Ready', status: 'True'}]});
  await at.patch(backups, 'stale', {spec: {schedule: 'hourly'}});

  t.deepEqual(await at.answer(backups, 'stale'), [
    'Backup default/stale is blocked: its controller plat has not looked at its generation 2, and reports on generation 1.',
    'Its controller, as soon as it works.',
  ]);
});

test.serial('a custom resource that is not ready waits for the deployment that it owns', async t => {
  await aBackup('owner', {
    conditions: [{type: 'Ready', status: 'False', reason: 'DeploymentNotReady', message: 'the deployment is not ready'}],
  });
  const {metadata} = await at.client.resource(backups).get('owner', {namespace: 'default'});
  const ownerReferences = [{apiVersion: 'example.com/v1', kind: 'Backup', name: 'owner', uid: metadata!.uid!, controller: true}];
  const template = {metadata: {labels: {app: 'worker'}}, spec: {serviceAccountName: 'robot', containers: [{name: 'app', image: 'worker'}]}};
  await at.create(kinds.deployments, {
    metadata: {name: 'worker', ownerReferences},
    spec: {selector: {matchLabels: {app: 'worker'}}, template},
  });
  await at.plane.clock.advance(10_000);

  const {answer, chain} = await at.why(backups, 'owner');
  t.is(
    answer.replace(/worker-\w+/, 'worker-HASH'),
    'Backup default/owner is blocked by ReplicaSet default/worker-HASH: its pods run as the service account robot, which does not exist.',
  );
  t.deepEqual(
    chain.map(({object}) => object.kind),
    ['Backup', 'Deployment', 'ReplicaSet'],
  );
});

test.serial('a custom resource that is ready waits for nothing', async t => {
  await aBackup('ready', {observedGeneration: 1, conditions: [{type: 'Ready', status: 'True'}]});

  t.deepEqual(await at.answer(backups, 'ready'), [
    'Backup default/ready waits for nothing: its condition Ready is true, and it is not being deleted.',
    undefined,
  ]);
});

test.serial('a gateway waits for its class, and then for what accepts the class', async t => {
  await at.create(gateways, {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: {name: 'edge'},
    spec: {gatewayClassName: 'edge'},
  });
  t.deepEqual(await at.answer(gateways, 'edge'), [
    'Gateway default/edge is blocked: its class edge does not exist, so that no controller serves it.',
    'The creation of the gateway class edge, or another spec.gatewayClassName.',
  ]);

  await at.create(classes, {metadata: {name: 'edge'}, spec: {controllerName: 'example.com/edge'}});
  t.deepEqual(await at.answer(gateways, 'edge'), [
    'Gateway default/edge is blocked: its class edge is not accepted by a controller.',
    'The controller example.com/edge of the class, as soon as it works.',
  ]);
});

test.serial('kinds have the names that kubectl knows', async t => {
  const discovery = await Discovery.of(at.client);
  const names = [
    'po',
    'pods',
    'Pod',
    'deploy',
    'deployments.apps',
    'deployment.v1.apps',
    'hpa',
    'csr',
    'bk',
    'backup',
    'backups.example.com',
    'ev',
    'gtw',
    'certificatesigningrequests.cert',
  ];

  t.deepEqual(
    names.map(name => discovery.kindNamed(name).kind),
    [
      'Pod',
      'Pod',
      'Pod',
      'Deployment',
      'Deployment',
      'Deployment',
      'HorizontalPodAutoscaler',
      'CertificateSigningRequest',
      'Backup',
      'Backup',
      'Backup',
      'Event',
      'Gateway',
      'CertificateSigningRequest',
    ],
  );
  t.throws(() => discovery.kindNamed('wombats'), {message: 'the server doesn\'t have a resource type "wombats"'});
});

test.serial('what the user may not read is said, and the search goes on', async t => {
  const rules = [{apiGroups: ['example.com'], resources: ['backups'], verbs: ['get']}];
  await at.create(kinds.clusterRoles, {metadata: {name: 'reader'}, rules});
  await at.create(kinds.clusterRoleBindings, {
    metadata: {name: 'reader'},
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader'},
    subjects: [{apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane'}],
  });
  await at.plane.clock.drain();
  const client = at.plane.client({name: 'jane', groups: ['system:authenticated']});

  const {answer, notes} = await at.why(backups, 'owner', {client});
  t.is(answer, 'Backup default/owner is blocked: its condition Ready is False: DeploymentNotReady: the deployment is not ready.');
  t.deepEqual(notes, [
    'you may not list deployments in the namespace default: what depends on it is not explained',
    'you may not list statefulsets in the namespace default: what depends on it is not explained',
    'you may not list daemonsets in the namespace default: what depends on it is not explained',
    'you may not list jobs in the namespace default: what depends on it is not explained',
    'you may not list pods in the namespace default: what depends on it is not explained',
    'you may not list persistentvolumeclaims in the namespace default: what depends on it is not explained',
  ]);
});

test.serial('the search keeps to its number of requests', async t => {
  const {requests} = await at.why(backups, 'owner');

  t.true(requests < 20);
});
