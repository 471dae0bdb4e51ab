import test from 'ava';
import {isForbidden} from '#src/api/status.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {NodeAuthorizer} from '#src/apiserver/authorization/node/authorizer.js';
import {NodeGraph} from '#src/apiserver/authorization/node/graph.js';
import {aPlane} from '#test/controllers/plane.js';
import {refusal} from '#test/resources/environment.js';
import {asking, aUser, words} from './policy.js';

const gate = (name: string): boolean => name !== 'ClusterTrustBundle';
const rules = bootstrapPolicy(words, gate).clusterRoles.find(({metadata}) => metadata?.name === 'system:node')!.rules!;
const graph = new NodeGraph(words);
const authorizer = new NodeAuthorizer({graph, naming: words, rules, gate});
const agent = (node: string) => aUser(`system:node:${node}`, 'system:nodes', 'system:authenticated');

const aPod = (name: string, nodeName: string, spec: Partial<NonNullable<Pod['spec']>> = {}, more: Partial<Pod> = {}): Pod => ({
  metadata: {name, namespace: 'ns', uid: name},
  spec: {nodeName, serviceAccountName: 'sa', containers: [{name: 'c'}], ...spec},
  ...more,
});

type Volume = ObjectOf<typeof kinds.persistentVolumes>;
const aVolume = (claim?: string): Volume => ({
  metadata: {name: 'pv'},
  spec: {
    ...(claim ? {claimRef: {namespace: 'ns', name: claim}} : {}),
    csi: {
      driver: 'd',
      volumeHandle: 'h',
      nodePublishSecretRef: {name: 'mount', namespace: 'other'},
      controllerPublishSecretRef: {name: 'attach', namespace: 'other'},
    },
  },
});

graph.pod(
  aPod(
    'p',
    'n1',
    {
      imagePullSecrets: [{name: 'pull'}],
      initContainers: [{name: 'i', envFrom: [{configMapRef: {name: 'from'}}]}],
      containers: [
        {
          name: 'c',
          env: [
            {name: 'E', valueFrom: {secretKeyRef: {name: 'env', key: 'k'}}},
            {name: 'F', valueFrom: {configMapKeyRef: {name: 'envmap', key: 'k'}}},
          ],
        },
      ],
      volumes: [
        {name: 'v', persistentVolumeClaim: {claimName: 'claim'}},
        {name: 'e', ephemeral: {}},
        {name: 'x', projected: {sources: [{configMap: {name: 'projected'}}, {secret: {name: 'projected'}}]}},
      ],
      resourceClaims: [
        {name: 'direct', resourceClaimName: 'direct'},
        {name: 'made', resourceClaimTemplateName: 't'},
        {name: 'later', resourceClaimTemplateName: 't'},
      ],
    },
    {
      status: {
        resourceClaimStatuses: [{name: 'made', resourceClaimName: 'made-1'}],
        extendedResourceClaimStatus: {resourceClaimName: 'ext', requestMappings: []},
      },
    } as Partial<Pod>,
  ),
  false,
);
graph.pod(aPod('q', 'n2', {imagePullSecrets: [{name: 'shared'}]}), false);
graph.pod(
  aPod(
    'mirror',
    'n1',
    {imagePullSecrets: [{name: 'stolen'}]},
    {metadata: {name: 'mirror', namespace: 'ns', annotations: {'plat.io/config.mirror': 'x'}}},
  ),
  false,
);
graph.volume(aVolume('claim'), false);

type Question = Parameters<typeof asking>[3] & {fieldSelector?: string};
const decide = (verb: string, what: string, {fieldSelector, ...more}: Question = {}, node = 'n1') => {
  const attributes = asking(agent(node), verb, what, more);
  return authorizer.authorize({
    ...attributes,
    ...(attributes.resource && fieldSelector ? {resource: {...attributes.resource, fieldSelector}} : {}),
  });
};

const ns = {namespace: 'ns'};
const lease = {namespace: 'plat-node-lease', group: 'coordination.plat.io'};
const storage = {group: 'storage.plat.io'};
const devices = {group: 'resource.plat.io'};

for (const [allowed, verb, what, more = {}] of [
  [true, 'get', 'secrets', {...ns, name: 'pull'}],
  [true, 'list', 'secrets', {...ns, name: 'env'}],
  [true, 'watch', 'secrets', {...ns, name: 'projected'}],
  [true, 'get', 'secrets', {namespace: 'other', name: 'mount'}],
  [false, 'get', 'secrets', {namespace: 'other', name: 'attach'}],
  [false, 'get', 'secrets', {...ns, name: 'shared'}],
  [false, 'get', 'secrets', {...ns, name: 'stolen'}],
  [false, 'list', 'secrets', ns],
  [false, 'list', 'secrets', {name: 'pull'}],
  [false, 'update', 'secrets', {...ns, name: 'pull'}],
  [true, 'get', 'configmaps', {...ns, name: 'from'}],
  [true, 'get', 'configmaps', {...ns, name: 'envmap'}],
  [true, 'get', 'configmaps', {...ns, name: 'projected'}],
  [false, 'get', 'configmaps', {...ns, name: 'pull'}],
  [true, 'get', 'persistentvolumeclaims', {...ns, name: 'claim'}],
  [true, 'get', 'persistentvolumeclaims', {...ns, name: 'p-e'}],
  [false, 'list', 'persistentvolumeclaims', {...ns, name: 'claim'}],
  [true, 'patch', 'persistentvolumeclaims/status', {...ns, name: 'claim'}],
  [false, 'patch', 'persistentvolumeclaims', {...ns, name: 'claim'}],
  [true, 'get', 'persistentvolumes', {name: 'pv'}],
  [false, 'get', 'persistentvolumes', {name: 'other'}],
  [true, 'get', 'resourceclaims', {...devices, ...ns, name: 'direct'}],
  [true, 'get', 'resourceclaims', {...devices, ...ns, name: 'made-1'}],
  [true, 'get', 'resourceclaims', {...devices, ...ns, name: 'ext'}],
  [false, 'get', 'resourceclaims', {...devices, ...ns, name: 'later'}],
  [true, 'create', 'serviceaccounts/token', {...ns, name: 'sa'}],
  [true, 'get', 'serviceaccounts', {...ns, name: 'sa'}],
  [false, 'create', 'serviceaccounts/token', {...ns, name: 'root'}],
  [false, 'create', 'serviceaccounts', ns],
  [true, 'get', 'nodes', {name: 'n1'}],
  [false, 'get', 'nodes', {name: 'n2'}],
  [false, 'list', 'nodes', {}],
  [true, 'list', 'nodes', {name: 'n1'}],
  [true, 'create', 'nodes', {}],
  [true, 'patch', 'nodes/status', {name: 'n1'}],
  [false, 'delete', 'nodes', {name: 'n1'}],
  [false, 'get', 'nodes/proxy', {name: 'n1'}],
  [true, 'get', 'pods', {...ns, name: 'p'}],
  [true, 'get', 'pods', {...ns, name: 'mirror'}],
  [false, 'get', 'pods', {...ns, name: 'q'}],
  [true, 'list', 'pods', {fieldSelector: 'spec.nodeName=n1'}],
  [true, 'watch', 'pods', {fieldSelector: 'status.phase!=Failed,spec.nodeName=n1'}],
  [false, 'list', 'pods', {fieldSelector: 'spec.nodeName!=n1'}],
  [false, 'list', 'pods', {fieldSelector: 'spec.nodeName=n2'}],
  [false, 'list', 'pods', ns],
  [true, 'watch', 'pods', {...ns, name: 'p', fieldSelector: 'metadata.name=p'}],
  [true, 'create', 'pods', ns],
  [true, 'delete', 'pods', {...ns, name: 'q'}],
  [true, 'patch', 'pods/status', {...ns, name: 'q'}],
  [true, 'create', 'pods/eviction', {...ns, name: 'q'}],
  [false, 'patch', 'pods', {...ns, name: 'p'}],
  [false, 'create', 'pods/binding', {...ns, name: 'p'}],
  [false, 'deletecollection', 'pods', {...ns, fieldSelector: 'spec.nodeName=n1'}],
  [true, 'update', 'leases', {...lease, name: 'n1'}],
  [true, 'create', 'leases', lease],
  [false, 'update', 'leases', {...lease, name: 'n2'}],
  [false, 'list', 'leases', lease],
  [false, 'get', 'leases', {...lease, namespace: 'plat-system', name: 'n1'}],
  [true, 'patch', 'csinodes', {...storage, name: 'n1'}],
  [false, 'patch', 'csinodes', {...storage, name: 'n2'}],
  [false, 'get', 'volumeattachments', {...storage, name: 'a'}],
  [true, 'list', 'csidrivers', storage],
  [true, 'list', 'resourceslices', {...devices, fieldSelector: 'spec.nodeName=n1'}],
  [true, 'deletecollection', 'resourceslices', {...devices, fieldSelector: 'spec.nodeName=n1'}],
  [false, 'list', 'resourceslices', devices],
  [true, 'create', 'resourceslices', devices],
  [false, 'update', 'resourceslices', {...devices, name: 's'}],
  [true, 'list', 'services', {}],
  [true, 'create', 'events', ns],
  [true, 'create', 'certificatesigningrequests', {group: 'certificates.plat.io'}],
  [true, 'create', 'subjectaccessreviews', {group: 'authorization.plat.io'}],
  [false, 'list', 'deployments', {group: 'apps'}],
  [false, 'get', '/metrics', {}],
] as [boolean, string, string, Question][]) {
  test(`a node ${allowed ? 'may' : 'may not'} ${verb} ${what} ${JSON.stringify(more)}`, t =>
    t.is(decide(verb, what, more).decision, allowed ? 'allow' : 'noOpinion'));
}

for (const [verb, what, more, reason] of [
  ['get', 'secrets', {...ns, name: 'shared'}, "no relationship found between node 'n1' and this object"],
  ['list', 'secrets', {...ns}, 'No Object name found'],
  ['list', 'nodes', {}, "node 'n1' cannot read all nodes, only its own Node object"],
  ['get', 'nodes', {name: 'n2'}, "node 'n1' cannot read 'n2', only its own Node object"],
  ['list', 'pods', {}, 'can only list/watch pods with spec.nodeName field selector'],
  ['get', 'leases', {...lease, namespace: 'default', name: 'n1'}, 'can only access leases in the "plat-node-lease" system namespace'],
  ['list', 'leases', lease, 'can only get, create, update, patch, or delete a node lease'],
  ['get', 'leases', {...lease, name: 'n2'}, 'can only access node lease with the same name as the requesting node'],
  ['update', 'csinodes', {...storage, name: 'n2'}, 'can only access CSINode with the same name as the requesting node'],
  ['get', 'serviceaccounts/token', {...ns, name: 'sa'}, 'cannot get subresource'],
  ['delete', 'serviceaccounts', {...ns, name: 'sa'}, 'can only create tokens for individual service accounts'],
] as [string, string, Question, string][]) {
  test(`a node gets a reason when it may not ${verb} ${what} ${JSON.stringify(more)}`, t => t.is(decide(verb, what, more).reason, reason));
}

test('users that are no nodes, and nodes without a name, are left to other authorizers', t => {
  const ask = (name: string, ...groups: string[]) => authorizer.authorize(asking(aUser(name, ...groups), 'get', 'nodes', {name: 'n1'}));

  t.deepEqual(ask('jane', 'system:nodes'), {decision: 'noOpinion'});
  t.deepEqual(ask('system:node:n1', 'devs'), {decision: 'noOpinion'});
  t.deepEqual(ask('system:node:', 'system:nodes'), {decision: 'noOpinion', reason: 'unknown node for user "system:node:"'});
  t.deepEqual(authorizer.rulesFor(agent('n1')), {
    resourceRules: [],
    nonResourceRules: [],
    incomplete: true,
    error: 'node authorizer does not support user rule resolution',
  });
  t.false(authorizer.rulesFor(aUser('jane')).incomplete);
});

test('a right lasts as long as anything that gives it', t => {
  const own = new NodeGraph(words);
  const sees = (node: string, name = 'pull') => own.reaches(node, 'secrets', 'ns', name);
  const pods = ['a', 'b'].map(name => aPod(name, 'n1', {imagePullSecrets: [{name: 'pull'}]}));
  for (const pod of pods) own.pod(pod, false);
  own.pod(pods[0]!, true);
  t.true(sees('n1'));
  own.pod(aPod('b', 'n2', {imagePullSecrets: [{name: 'pull'}]}, {metadata: {name: 'b', namespace: 'ns', uid: 'another'}}), false);
  t.deepEqual([sees('n1'), sees('n2')], [false, true]);
  own.pod(aPod('c', 'n2', {volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'claim'}}]}), false);
  own.volume(aVolume('claim'), false);
  t.true(own.reaches('n2', 'secrets', 'other', 'mount'));
  own.volume(aVolume(), false);
  t.false(own.reaches('n2', 'secrets', 'other', 'mount'));
  t.false(own.reaches('n2', 'persistentvolumes', '', 'pv'));
  own.pod(pods[1]!, true);

  t.false(sees('n2'));
});

test('a node may read the objects of its pods from the moment they are bound, and those of ephemeral containers once they are added', async t => {
  await using plane = await aPlane({nodes: 2, controllers: ['serviceaccount-controller']});
  const client = plane.client();
  const as = (name: string) => plane.client(agent(name)).resource(kinds.secrets).get('s', {namespace: 'default'});
  await client.resource(kinds.secrets).create({metadata: {name: 's', namespace: 'default'}});
  t.is(
    (await refusal(as('plat-node-0'))).message,
    'secrets "s" is forbidden: User "system:node:plat-node-0" cannot get resource "secrets" in API group "" in the namespace "default": no relationship found between node \'plat-node-0\' and this object',
  );
  await client.resource(kinds.pods).create({
    metadata: {name: 'p', namespace: 'default'},
    spec: {nodeName: 'plat-node-0', imagePullSecrets: [{name: 's'}], containers: [{name: 'c', image: 'i'}]},
  });
  await t.notThrowsAsync(as('plat-node-0'));
  await t.throwsAsync(as('plat-node-1'), {any: true});
  const look = {name: 'look', image: 'i', env: [{name: 'E', valueFrom: {configMapKeyRef: {name: 'added', key: 'k'}}}]};
  const added = () => plane.client(agent('plat-node-0')).resource(kinds.configMaps).get('added', {namespace: 'default'});
  await client.resource(kinds.configMaps).create({metadata: {name: 'added', namespace: 'default'}});
  t.true(isForbidden(await added().catch((error: unknown) => error)));
  await client
    .resource(kinds.pods)
    .patch(
      'p',
      'strategic',
      {spec: {ephemeralContainers: [{...look, envFrom: [{secretRef: {name: 'more'}}]}]}},
      {namespace: 'default', subresource: 'ephemeralcontainers'},
    );
  await t.notThrowsAsync(added());
  await client.resource(kinds.pods).delete('p', {namespace: 'default', gracePeriodSeconds: 0});
  t.true(isForbidden(await as('plat-node-0').catch((error: unknown) => error)));
  const taint = plane
    .client(agent('plat-node-0'))
    .resource(kinds.nodes)
    .patch('plat-node-0', 'merge', {spec: {taints: []}});

  t.is((await refusal(taint)).message, 'nodes "plat-node-0" is forbidden: node "plat-node-0" is not allowed to modify taints');
});
