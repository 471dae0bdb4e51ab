import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {startEnvironment} from './environment.js';

const is = (type: string, status = 'True') => ({type, status, lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'r', message: ''});
const request = (...types: string[]) => ({
  metadata: {name: 'p'},
  spec: {podName: 'w', serviceAccountName: 'a', nodeName: 'n', signerName: 'example.com/s', unverifiedUserAnnotations: {'a/b': 'c'}},
  status: {conditions: types.map(type => is(type))},
});
const migration = (...conditions: object[]) => ({
  metadata: {name: 'm'},
  spec: {resource: {group: 'apps', resource: 'deployments'}},
  status: {conditions},
});

const rows: readonly (readonly [title: string, kind: Kind, object: object, cells: Record<string, unknown>])[] = [
  [
    'an event',
    kinds.coreEvents,
    {involvedObject: {kind: 'Pod', name: 'p'}, count: 3, metadata: {name: 'e'}},
    {Object: 'pod/p', Count: 3, Name: 'e'},
  ],
  ['an account', kinds.serviceAccounts, {metadata: {name: 'a'}, secrets: [{name: 's'}]}, {Name: 'a', Age: '<unknown>'}],
  [
    'a taint of devices',
    kinds.deviceTaintRules,
    {metadata: {name: 'r'}, spec: {taint: {key: 'k', effect: 'NoExecute', timeAdded: '2025-12-31T23:59:00Z'}}},
    {Name: 'r', Key: 'k', Value: '', Effect: 'NoExecute', TimeAdded: '60s', Age: '<unknown>'},
  ],
  [
    'a request for a certificate',
    kinds.podCertificateRequests,
    request(),
    {
      Name: 'p',
      PodName: 'w',
      ServiceAccountName: 'a',
      NodeName: 'n',
      SignerName: 'example.com/s',
      State: 'Pending',
      UnverifiedUserAnnotations: 'a/b=c',
    },
  ],
  ['a request that was denied', kinds.podCertificateRequests, request('Denied'), {State: 'Denied'}],
  [
    'a migration that waits',
    kinds.storageVersionMigrations,
    migration(is('Running', 'False')),
    {Name: 'm', Resource: 'deployments.apps', Status: 'Unknown'},
  ],
  ['a migration that is done', kinds.storageVersionMigrations, migration(is('Running', 'False'), is('Succeeded')), {Status: 'Succeeded'}],
  [
    'a version of a group that is served here',
    kinds.apiServices,
    {metadata: {name: 'v1.a'}, status: {conditions: [is('Available')]}},
    {Name: 'v1.a', Service: 'Local', Available: 'True', Age: '<unknown>'},
  ],
  [
    'a version of a group whose service is down',
    kinds.apiServices,
    {metadata: {name: 'v1.a'}, spec: {service: {namespace: 'n', name: 's'}}, status: {conditions: [is('Available', 'False')]}},
    {Service: 'n/s', Available: 'False (r)'},
  ],
  ['a version of an unavailable group', kinds.apiServices, {metadata: {name: 'v1.a'}}, {Available: 'Unknown'}],
  [
    'a level without limits',
    kinds.priorityLevelConfigurations,
    {metadata: {name: 'l'}, spec: {type: 'Exempt'}},
    {Type: 'Exempt', NominalConcurrencyShares: '<none>', Queues: '<none>'},
  ],
];

for (const [title, kind, object, cells] of rows) {
  test(`the table shows ${title}`, async t => {
    const {row} = await startEnvironment();
    const shown = await row(kind as Kind<KubeObject>, object as KubeObject);

    t.deepEqual(Object.fromEntries(Object.keys(cells).map(name => [name, shown[name]])), cells);
    if (Object.keys(cells)[0] === 'Name') t.deepEqual(Object.keys(shown), Object.keys(cells));
  });
}
