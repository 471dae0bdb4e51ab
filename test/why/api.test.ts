import test from 'ava';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {kinds, Situations} from './situations.js';

const at = await Situations.start([
  'namespace-controller',
  'garbage-collector-controller',
  'resourcequota-controller',
  'deployment-controller',
  'replicaset-controller',
]);
test.after.always(() => at[Symbol.asyncDispose]());

const seconds = 1_000;

test.serial('a namespace that is being deleted waits for the object that a finalizer keeps', async t => {
  await at.create(kinds.namespaces, {metadata: {name: 'ending'}});
  const settings = {metadata: {name: 'settings', namespace: 'ending', finalizers: ['example.com/backup']}};
  await at.client.resource(kinds.configMaps).create(settings, {fieldManager: 'backup-operator'});
  await at.delete(kinds.namespaces, 'ending');

  t.deepEqual(await at.answer(kinds.namespaces, 'ending', 10 * seconds), [
    'Namespace ending is blocked by ConfigMap ending/settings: it is being deleted, and the finalizer example.com/backup keeps it: whoever set it (the field manager backup-operator) has to remove it.',
    'Its controller removes the finalizer once it has cleaned up: see that it runs. Without it nothing is cleaned up: kubectl patch configmaps settings -n ending --type=merge -p \'{"metadata":{"finalizers":null}}\'.',
  ]);
  t.is(
    (await at.why(kinds.namespaces, 'ending')).chain[0]?.sentence,
    'it is being deleted, and ConfigMap ending/settings is still in it, kept by finalizers (example.com/backup in 1 resource instances)',
  );
});

test.serial('a namespace waits for the server of a group that does not answer', async t => {
  const spec = {
    group: 'away.example.com',
    version: 'v1',
    groupPriorityMinimum: 1000,
    versionPriority: 10,
    insecureSkipTLSVerify: true,
    service: {name: 'server', namespace: 'tools'},
  };
  await at.create(kinds.apiServices, {metadata: {name: 'v1.away.example.com'}, spec});
  await at.create(kinds.namespaces, {metadata: {name: 'unknown'}});
  await at.plane.clock.advance(10 * seconds);
  await at.delete(kinds.namespaces, 'unknown');

  t.deepEqual(await at.answer(kinds.namespaces, 'unknown', 20 * seconds), [
    'Namespace unknown is blocked by APIService v1.away.example.com: it is not available: ServiceNotFound: service/server in "tools" is not present.',
    'The creation of the service tools/server with the server behind it, or the deletion of the APIService.',
  ]);
  t.deepEqual(await at.answer(kinds.apiServices, 'v1.away.example.com'), [
    'APIService v1.away.example.com is blocked: it is not available: ServiceNotFound: service/server in "tools" is not present.',
    'The creation of the service tools/server with the server behind it, or the deletion of the APIService.',
  ]);
  await at.delete(kinds.apiServices, 'v1.away.example.com');
});

const aDefinition = (plural: string, kind: string, group = 'example.com') => ({
  metadata: {name: `${plural}.${group}`},
  spec: {
    group,
    scope: 'Namespaced',
    names: {plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List`},
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

test.serial('a definition whose names others have says so', async t => {
  await at.create(kinds.customResourceDefinitions, aDefinition('backups', 'Backup'), aDefinition('copies', 'Backup'));

  t.deepEqual(await at.answer(kinds.customResourceDefinitions, 'copies.example.com', 10 * seconds), [
    'CustomResourceDefinition copies.example.com is blocked: its names are not accepted: ListKindConflict: "BackupList" is already in use.',
    'Other names, or the deletion of the definition that has them.',
  ]);
});

test.serial('a definition that is being deleted waits for its last object', async t => {
  await at.create(kinds.customResourceDefinitions, aDefinition('widgets', 'Widget'));
  await at.plane.clock.advance(10 * seconds);
  const kind = {
    ...kinds.configMaps,
    group: 'example.com' as never,
    kind: 'Widget',
    plural: 'widgets',
    singular: 'widget',
    listKind: 'WidgetList',
  };
  await at.create(kind, {metadata: {name: 'last', finalizers: ['example.com/release']}});
  await at.delete(kinds.customResourceDefinitions, 'widgets.example.com');

  t.deepEqual(await at.answer(kinds.customResourceDefinitions, 'widgets.example.com', 10 * seconds), [
    'CustomResourceDefinition widgets.example.com is blocked by Widget default/last: it is being deleted, and the finalizer example.com/release keeps it: whoever set it (the field manager plat) has to remove it.',
    'Its controller removes the finalizer once it has cleaned up: see that it runs. Without it nothing is cleaned up: kubectl patch widgets last -n default --type=merge -p \'{"metadata":{"finalizers":null}}\'.',
  ]);
});

test.serial('an object that is deleted in the foreground waits for what it owns', async t => {
  await at.create(kinds.deployments, {
    metadata: {name: 'web'},
    spec: {
      selector: {matchLabels: {app: 'web'}},
      template: {metadata: {labels: {app: 'web'}, finalizers: ['example.com/drain']}, spec: {containers: [{name: 'app', image: 'web'}]}},
    },
  });
  await at.plane.clock.advance(5 * seconds);
  await at.delete(kinds.deployments, 'web', {propagationPolicy: 'Foreground'});

  const [answer] = await at.answer(kinds.deployments, 'web', 10 * seconds);
  t.is(
    answer.replaceAll(/web-\w+-\w+/g, 'web-HASH-ID'),
    'Deployment default/web is blocked by Pod default/web-HASH-ID: it is being deleted, and the finalizer example.com/drain keeps it: whoever set it (the field manager kube-controller-manager) has to remove it.',
  );
  t.deepEqual(
    (await at.why(kinds.deployments, 'web')).chain.map(({object, rule}) => `${object.kind} ${rule}`),
    ['Deployment foreground-deletion', 'ReplicaSet foreground-deletion', 'Pod finalizer'],
  );
});

test.serial('a deployment without its controller waits for a leader', async t => {
  const lease = {
    metadata: {name: 'kube-controller-manager', namespace: 'kube-system'},
    spec: {holderIdentity: 'manager-1', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:10.000000Z'},
  };
  await at.create(kinds.leases, lease);
  await at.create(kinds.statefulSets, {
    metadata: {name: 'db'},
    spec: {
      serviceName: 'db',
      selector: {matchLabels: {app: 'db'}},
      template: {metadata: {labels: {app: 'db'}}, spec: {containers: [{name: 'app', image: 'db'}]}},
    },
  });

  t.deepEqual(await at.answer(kinds.statefulSets, 'db', 30 * seconds), [
    'StatefulSet default/db is blocked by Lease kube-system/kube-controller-manager: its holder manager-1 has renewed it last at 2026-01-01T00:00:10.000000Z, so that it is out of force.',
    'Its holder, if it works again, or another candidate that takes it.',
  ]);
  t.is((await at.why(kinds.statefulSets, 'db')).chain[0]?.sentence, 'the statefulset-controller has not looked at it');
});

test.serial('a quota that is used up names what', async t => {
  await at.create(kinds.namespaces, {metadata: {name: 'small'}});
  await at.create(kinds.configMaps, {metadata: {name: 'one', namespace: 'small'}});
  await at.create(kinds.resourceQuotas, {metadata: {name: 'maps', namespace: 'small'}, spec: {hard: {configmaps: '1', secrets: '5'}}});

  t.deepEqual(await at.answer(kinds.resourceQuotas, 'maps', 10 * seconds, 'small'), [
    'ResourceQuota small/maps is blocked: it is used up: 1 of 1 configmaps.',
    'A higher spec.hard, or the end of other objects in the namespace small.',
  ]);
});

const aRequest = async (name: string, signerName: string) => {
  const request = createSigningRequest(await generatePrivateKey(), {subject: {commonName: 'jane', organizations: []}, dnsNames: []});
  return {metadata: {name}, spec: {request: Buffer.from(request).toString('base64'), signerName, usages: ['client auth']}};
};

test.serial('a certificate request waits for somebody who approves it', async t => {
  await at.create(kinds.certificateSigningRequests, await aRequest('jane', 'kubernetes.io/kube-apiserver-client'));

  t.deepEqual(await at.answer(kinds.certificateSigningRequests, 'jane', 10 * seconds), [
    'CertificateSigningRequest jane is blocked: the request is pending: created 10s ago by plat-admin, and neither approved nor denied.',
    'No controller approves requests for kubernetes.io/kube-apiserver-client like this one: somebody has to. To approve it: plat certificate approve jane. It is deleted a day after its creation if nobody decides.',
  ]);
});

test.serial('a certificate request that is approved waits for its signer, and one that is denied for nothing', async t => {
  await at.create(kinds.certificateSigningRequests, await aRequest('own', 'example.com/own'), await aRequest('bad', 'example.com/own'));
  for (const [name, type] of [
    ['own', 'Approved'],
    ['bad', 'Denied'],
  ] as const) {
    const conditions = [{type, status: 'True', reason: 'ByHand', message: 'it was decided', lastUpdateTime: '2026-01-01T00:01:00Z'}];
    await at.patch(kinds.certificateSigningRequests, name, {status: {conditions}}, {subresource: 'approval'});
  }

  t.deepEqual(
    (await at.answer(kinds.certificateSigningRequests, 'own')).map(text => text?.replaceAll(/ \w+ ago/g, ' AGO')),
    [
      'CertificateSigningRequest own is blocked: the request is approved AGO (ByHand: it was decided), and not signed yet.',
      'No controller here signs for example.com/own: its own signer has to, and seems not to work.',
    ],
  );
  t.deepEqual(
    (await at.answer(kinds.certificateSigningRequests, 'bad')).map(text => text?.replaceAll(/ \w+ ago/g, ' AGO')),
    [
      'CertificateSigningRequest bad is blocked: the request is denied AGO (ByHand: it was decided).',
      'A decision is final: create a new request under another name, or delete this one first.',
    ],
  );
});

test.serial('an object of a kind without a status waits for nothing', async t => {
  await at.create(kinds.configMaps, {metadata: {name: 'plain'}});

  t.deepEqual(await at.answer(kinds.configMaps, 'plain'), [
    'ConfigMap default/plain waits for nothing: it is not being deleted, and objects of its kind have no status.',
    undefined,
  ]);
});
