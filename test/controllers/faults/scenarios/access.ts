import {kinds} from '#src/api/kinds/index.js';
import type {ObjectMeta, OwnerReference} from '#src/api/types.js';
import type {Scenario} from '#test/controllers/faults/harness.js';
import {home, type Stage} from '#test/controllers/faults/stage.js';
import {minute, hour, aPod, nodes, named} from './objects.js';

const ownedBy = (owner: {metadata?: ObjectMeta}): OwnerReference[] => [
  {apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata!.name!, uid: owner.metadata!.uid!, blockOwnerDeletion: true},
];

const family = async ({client}: Stage) => {
  const maps = client.resource(kinds.configMaps);
  for (const name of ['foreground', 'background', 'orphan']) {
    const owner = await maps.create({metadata: {namespace: home, name}});
    const child = await maps.create({metadata: {namespace: home, name: `${name}-child`, ownerReferences: ownedBy(owner)}});
    await maps.create({metadata: {namespace: home, name: `${name}-grandchild`, ownerReferences: ownedBy(child)}});
  }
};

const tokenSecret = ({naming}: Stage, name: string, account: string) => ({
  metadata: {name, annotations: {[naming.key('service-account.name')]: account}},
  type: naming.key('service-account-token'),
});

/** Scenarios of the controllers of accounts, namespaces, policies and stored objects as such. */
export const accessScenarios: Readonly<Record<string, Scenario>> = {
  'clusterrole-aggregation': {
    steps: [
      async stage => {
        const part = (name: string, more: object) => ({
          metadata: {name, labels: {[`to-${name}`]: 'yes'}},
          rules: [{verbs: ['get'], apiGroups: [''], resources: [name]}],
          ...more,
        });
        const from = (...names: string[]) => ({
          aggregationRule: {clusterRoleSelectors: names.map(name => ({matchLabels: {[`to-${name}`]: 'yes'}}))},
        });
        await stage.make(kinds.clusterRoles, part('a', {}), part('b', {}), part('middle', from('a', 'b')), part('top', from('middle')));
      },
      stage => stage.change(kinds.clusterRoles, 'a', {rules: [{verbs: ['list'], apiGroups: [''], resources: ['a']}]}),
      stage => stage.remove(kinds.clusterRoles, 'b'),
    ],
    touch: kinds.clusterRoles,
    compare: [kinds.clusterRoles],
  },
  'legacy-serviceaccount-token-cleaner': {
    args: ['--legacy-service-account-token-clean-up-period=48h'],
    steps: [
      async stage => {
        const {legacyTokenTracking: name, systemNamespace: namespace} = stage.naming;
        await stage.make(kinds.configMaps, {metadata: {name, namespace}, data: {since: '2025-12-20'}});
        await stage.make(kinds.serviceAccounts, {metadata: {name: 'a'}, secrets: [{name: 'one'}, {name: 'two'}]});
        await stage.make(kinds.secrets, tokenSecret(stage, 'one', 'a'), tokenSecret(stage, 'two', 'a'), tokenSecret(stage, 'by-hand', 'a'));
      },
    ],
    settleMs: 8 * 24 * hour,
    touch: kinds.secrets,
    compare: [kinds.secrets, kinds.serviceAccounts],
  },
  serviceaccount: {
    steps: [stage => stage.make(kinds.namespaces, ...named(home, 'other')), stage => stage.remove(kinds.serviceAccounts, 'default')],
    touch: kinds.namespaces,
    compare: [kinds.serviceAccounts],
  },
  'serviceaccount-token': {
    steps: [
      async stage => {
        await stage.make(kinds.serviceAccounts, ...named('a', 'b'));
        await stage.make(
          kinds.secrets,
          tokenSecret(stage, 'of-a', 'a'),
          tokenSecret(stage, 'of-b', 'b'),
          tokenSecret(stage, 'of-none', 'none'),
        );
      },
      stage => stage.change(kinds.serviceAccounts, 'a', {secrets: [{name: 'of-a'}, {name: 'kept'}]}),
      stage => stage.remove(kinds.secrets, 'of-a'),
      stage => stage.remove(kinds.serviceAccounts, 'b'),
    ],
    touch: kinds.secrets,
    compare: [kinds.secrets, kinds.serviceAccounts],
    blurred: ['token'],
    // An account may name secrets that never existed: only a controller that saw one deleted removes its name.
    lost: /^PUT .*\/serviceaccounts\//,
  },
  namespace: {
    steps: [
      async stage => {
        await stage.make(kinds.namespaces, ...named(home, 'other'));
        await stage.make(kinds.configMaps, ...named('one', 'two'), {metadata: {name: 'kept', namespace: 'other'}});
        await stage.make(kinds.secrets, ...named('s'));
        await stage.make(kinds.pods, aPod('p', {nodeName: 'n1'}));
      },
      stage => stage.remove(kinds.namespaces, home),
      nodes,
      () => Promise.resolve(),
    ],
    settleMs: 2 * minute,
    touch: kinds.namespaces,
    compare: [kinds.namespaces, kinds.configMaps, kinds.secrets, kinds.pods],
  },
  resourcequota: {
    steps: [
      async stage => {
        await stage.make(kinds.pods, aPod('one'));
        await stage.make(kinds.resourceQuotas, {metadata: {name: 'q'}, spec: {hard: {pods: '3', configmaps: '5'}}});
      },
      stage => stage.change(kinds.resourceQuotas, 'q', {spec: {hard: {pods: '4'}}}),
      stage => stage.remove(kinds.pods, 'one', {gracePeriodSeconds: 0}),
    ],
    touch: kinds.resourceQuotas,
    compare: [kinds.resourceQuotas],
  },
  'validatingadmissionpolicy-status': {
    steps: [
      stage =>
        stage.make(kinds.validatingAdmissionPolicies, {
          metadata: {name: 'wrong'},
          spec: {
            matchConstraints: {
              resourceRules: [{operations: ['CREATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments']}],
            },
            validations: [{expression: 'object.spec.missing > 1'}],
          },
        }),
      stage => stage.change(kinds.validatingAdmissionPolicies, 'wrong', {spec: {failurePolicy: 'Ignore'}}),
    ],
    touch: kinds.validatingAdmissionPolicies,
    compare: [kinds.validatingAdmissionPolicies],
  },
  'garbage-collector': {
    steps: [
      family,
      async stage => {
        await stage.remove(kinds.configMaps, 'foreground', {propagationPolicy: 'Foreground'});
        await stage.remove(kinds.configMaps, 'background', {propagationPolicy: 'Background'});
        await stage.remove(kinds.configMaps, 'orphan', {propagationPolicy: 'Orphan'});
      },
    ],
    touch: kinds.configMaps,
    compare: [kinds.configMaps],
  },
  'storage-version-migrator': {
    args: ['--feature-gates=StorageVersionMigrator=true'],
    gates: ['StorageVersionMigrator'],
    steps: [
      stage => stage.make(kinds.configMaps, ...named('one', 'two')),
      stage =>
        stage.make(
          kinds.storageVersionMigrations,
          {metadata: {name: 'maps'}, spec: {resource: {group: '', resource: 'configmaps'}}},
          {metadata: {name: 'nothing'}, spec: {resource: {group: 'example.com', resource: 'nothing'}}},
        ),
    ],
    settleMs: 5 * minute,
    touch: kinds.storageVersionMigrations,
    compare: [kinds.storageVersionMigrations, kinds.configMaps],
  },
  'storageversion-garbage-collector': {
    args: ['--feature-gates=StorageVersionAPI=true,APIServerIdentity=true'],
    gates: ['StorageVersionAPI', 'APIServerIdentity'],
    steps: [
      async stage => {
        const identity = {[stage.naming.subKey('apiserver', 'identity')]: stage.naming.component('apiserver')};
        for (const name of ['first', 'second'])
          await stage.make(kinds.leases, {metadata: {name, namespace: stage.naming.systemNamespace, labels: identity}, spec: {}});
        for (const [name, ...servers] of [
          ['example.com.two', 'first', 'second', 'nobody'],
          ['example.com.one', 'second'],
          ['example.com.none', 'nobody'],
        ]) {
          await stage.make(kinds.storageVersions, {metadata: {name: name!}, spec: {}, status: {}});
          const storageVersions = servers.map(apiServerID => ({apiServerID, encodingVersion: 'v1', decodableVersions: ['v1']}));
          await stage.change(kinds.storageVersions, name!, {status: {storageVersions, commonEncodingVersion: 'v1'}}, 'status');
        }
      },
      stage => stage.client.resource(kinds.leases).delete('second', {namespace: stage.naming.systemNamespace}),
    ],
    touch: kinds.storageVersions,
    compare: [kinds.storageVersions],
  },
};
