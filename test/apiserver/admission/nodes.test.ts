import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject, TokenRequest} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {refusal} from '#test/resources/environment.js';
import {aPod, namespace, startWith} from './context.js';

const me: UserInfo = {name: 'system:node:me', groups: ['system:nodes', 'system:authenticated']};
const anyGate = (name: string): boolean => name !== 'AllowInsecurePlatletCertificateSigningRequests';

const tokens = {audiences: ['self'], maxSeconds: 3600, extends: false, sign: () => 'signed'};

const start = async (own: Parameters<typeof startWith>[1] = {}) => {
  const env = await startWith(
    'NodeRestriction',
    {gate: anyGate, authorizer: {authorize: () => ({decision: 'noOpinion'})}, ...own},
    {tokens},
  );
  const node = await env.of(kinds.nodes).create({metadata: {name: 'me', labels: {'plat.io/hostname': 'me'}}});
  return {...env, uid: node.metadata!.uid!, mine: <T extends KubeObject>(kind: Parameters<typeof env.of<T>>[0]) => env.of(kind, me)};
};

const refused = async (act: Promise<unknown>): Promise<string> => (await refusal(act)).message!.replace(/^.*? is forbidden: /, '');
const owner = (uid: string) => ({apiVersion: 'v1', kind: 'Node', name: 'me', uid, controller: true});
const mirror = (uid: string, {spec, ...metadata}: {spec?: Partial<NonNullable<Pod['spec']>>} & NonNullable<Pod['metadata']> = {}): Pod =>
  aPod({nodeName: 'me', ...spec}, {annotations: {'plat.io/config.mirror': 'x'}, ownerReferences: [owner(uid)], ...metadata});

test('a node makes pods that stand for its own, and nothing with them', async t => {
  const {mine, uid} = await start();
  const pods = mine(kinds.pods);
  await t.notThrowsAsync(pods.create(mirror(uid, {name: 'good', spec: {volumes: [{name: 'v', emptyDir: {}}]}})));
  const cases: [Pod, string][] = [
    [aPod({nodeName: 'me'}), 'pod does not have "plat.io/config.mirror" annotation, node "me" can only create mirror pods'],
    [mirror(uid, {spec: {nodeName: 'you'}}), 'node "me" can only create pods with spec.nodeName set to itself'],
    [mirror(uid, {ownerReferences: []}), 'node "me" can only create pods with an owner reference set to itself'],
    [
      mirror(uid, {ownerReferences: [{...owner(uid), name: 'you'}]}),
      'node "me" can only create pods with an owner reference set to itself',
    ],
    [
      mirror(uid, {ownerReferences: [owner(uid), {...owner(uid), uid: 'x', controller: false}]}),
      'node "me" can only create pods with a single owner reference set to itself',
    ],
    [
      mirror(uid, {ownerReferences: [{...owner(uid), controller: false}]}),
      'node "me" can only create pods with a controller owner reference set to itself',
    ],
    [
      mirror(uid, {ownerReferences: [{...owner(uid), blockOwnerDeletion: true}]}),
      'node "me" must not set blockOwnerDeletion on an owner reference',
    ],
    [mirror('x'), `node me UID mismatch: expected x got ${uid}`],
  ];
  for (const [pod, why] of cases) t.is(await refused(pods.create(pod)), why);
  const references: [Partial<NonNullable<Pod['spec']>>, string][] = [
    [{serviceAccountName: 'sa'}, 'serviceaccounts'],
    [{imagePullSecrets: [{name: 's'}]}, 'secrets'],
    [{containers: [{name: 'c', image: 'i', envFrom: [{configMapRef: {name: 'm'}}]}]}, 'configmaps'],
    [{resourceClaims: [{name: 'r', resourceClaimName: 'r'}]}, 'resourceclaims'],
    [{volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'c'}}]}, 'persistentvolumeclaims'],
    [{volumes: [{name: 'v', csi: {driver: 'd'}}]}, 'csidrivers (via CSI volumes)'],
    [{volumes: [{name: 'v', projected: {sources: [{serviceAccountToken: {path: 't'}}]}}]}, 'serviceaccounts (via projected volumes)'],
    [{volumes: [{name: 'v', projected: {sources: [{clusterTrustBundle: {name: 'b', path: 't'}}]}}]}, 'clustertrustbundles'],
  ];
  for (const [spec, what] of references)
    t.is(await refused(pods.create(mirror(uid, {spec}))), `node "me" can not create pods that reference ${what}`);
});

test('a node writes the status of its own pods, deletes and evicts them, and changes nothing else of them', async t => {
  const {mine, of} = await start();
  for (const name of ['me', 'you']) await of(kinds.pods).create(aPod({nodeName: name}, {name: `on-${name}`, labels: {a: 'b'}}));
  const pods = mine(kinds.pods);
  const status = (name: string, body: object) => pods.patch(name, 'merge', body, {namespace, subresource: 'status'});
  const evict = (name: string) =>
    pods.create({apiVersion: 'policy/v1', kind: 'Eviction', metadata: {name, namespace}} as KubeObject, {subresource: 'eviction'});
  await t.notThrowsAsync(status('on-me', {status: {phase: 'Running'}}));
  t.is(
    await refused(status('on-you', {status: {phase: 'Running'}})),
    'node "me" can only update pod status for pods with spec.nodeName set to itself',
  );
  t.is(await refused(status('on-me', {metadata: {labels: {a: 'c'}}})), 'node "me" cannot update labels through pod status');
  t.is(
    await refused(status('on-me', {status: {resourceClaimStatuses: [{name: 'x', resourceClaimName: 'y'}]}})),
    'node "me" cannot update resource claim statues',
  );
  t.is(
    await refused(pods.patch('on-me', 'merge', {metadata: {labels: {a: 'c'}}}, {namespace})),
    'unexpected operation "UPDATE", node "me" can only create and delete mirror pods',
  );
  t.is(await refused(evict('on-you')), 'node me can only evict pods with spec.nodeName set to itself');
  t.is(await refused(pods.delete('on-you', {namespace})), 'node "me" can only delete pods with spec.nodeName set to itself');
  t.is(
    await refused(
      pods.create({apiVersion: 'v1', kind: 'Binding', metadata: {name: 'on-me', namespace}, target: {name: 'me'}} as KubeObject, {
        subresource: 'binding',
        name: 'on-me',
      }),
    ),
    "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
  );
  await t.notThrowsAsync(pods.delete('on-me', {namespace}));
});

test('a node changes itself alone, and neither its taints, owners, nor labels that are not its own', async t => {
  const {mine, of} = await start();
  await of(kinds.nodes).create({metadata: {name: 'you'}});
  const nodes = mine(kinds.nodes);
  const change = (body: object) => nodes.patch('me', 'merge', body);
  const labels = (names: Record<string, string | null>) => change({metadata: {labels: names}});
  await t.notThrowsAsync(change({spec: {unschedulable: true}}));
  await t.notThrowsAsync(
    labels({'example.com/a': 'b', 'plat.io/os': 'linux', 'node.plat.io/x': 'y', 'topology.plat.io/zone': 'z', plain: 'x'}),
  );
  t.is(
    await refused(labels({'node-restriction.plat.io/a': 'b', 'node-role.plat.io/control-plane': ''})),
    'is not allowed to modify labels: node-restriction.plat.io/a, node-role.plat.io/control-plane',
  );
  t.is(await refused(change({spec: {taints: [{key: 'a', effect: 'NoSchedule'}]}})), 'node "me" is not allowed to modify taints');
  t.is(
    await refused(change({metadata: {ownerReferences: [{apiVersion: 'v1', kind: 'Node', name: 'you', uid: 'x'}]}})),
    'node "me" is not allowed to modify ownerReferences',
  );
  t.is(await refused(nodes.patch('you', 'merge', {metadata: {labels: {a: 'b'}}})), 'node "me" is not allowed to modify node "you"');
  t.is(await refused(nodes.create({metadata: {name: 'third'}})), 'node "me" is not allowed to modify node "third"');
  await of(kinds.nodes).delete('me');
  t.is(
    await refused(nodes.create({metadata: {name: 'me', labels: {'node-role.plat.io/x': ''}}})),
    'node "me" is not allowed to set the following labels: node-role.plat.io/x',
  );
  await t.notThrowsAsync(
    nodes.create({metadata: {name: 'me', labels: {'plat.io/hostname': 'me'}}, spec: {taints: [{key: 'a', effect: 'NoSchedule'}]}}),
  );
});

test('a node requests tokens of pods bound to it, for audiences that they use', async t => {
  const granted = new Set<string>();
  const {mine, of} = await start({
    authorizer: {
      authorize: ({verb, resource}) => ({
        decision: verb === 'request-serviceaccounts-token-audience' && granted.has(resource?.resource ?? '') ? 'allow' : 'noOpinion',
      }),
    },
  });
  await of(kinds.serviceAccounts).create({metadata: {name: 'sa', namespace}});
  await of(kinds.csiDrivers).create({metadata: {name: 'driver'}, spec: {tokenRequests: [{audience: 'csi'}]}});
  const volumes = [
    {name: 't', projected: {sources: [{serviceAccountToken: {path: 't', audience: 'vault'}}]}},
    {name: 'c', csi: {driver: 'driver'}},
  ];
  const [own, foreign] = await Promise.all(
    ['me', 'you'].map(nodeName => of(kinds.pods).create(aPod({nodeName, serviceAccountName: 'sa', volumes}, {name: `on-${nodeName}`}))),
  );
  const ask = (spec: Partial<TokenRequest['spec']>) =>
    mine(kinds.serviceAccounts).create({metadata: {name: 'sa', namespace}, spec} as never, {
      subresource: 'token',
      name: 'sa',
    }) as Promise<TokenRequest>;
  const bound = (pod: Pod | undefined, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    name: pod?.metadata?.name ?? '',
    uid: pod?.metadata?.uid ?? '',
    ...more,
  });
  const messageOf = async (spec: Partial<TokenRequest['spec']>): Promise<string> =>
    refusal(ask(spec)).then(({message}) => message!.replace(/^serviceaccounts "sa" is forbidden: /, ''));

  t.is(await messageOf({audiences: []}), 'node requested token not bound to a pod');
  t.is(await messageOf({audiences: [], boundObjectRef: bound(own, {uid: ''})}), 'node requested token with a pod binding without a uid');
  t.is(await messageOf({audiences: [], boundObjectRef: bound(own, {name: 'gone'})}), 'pod "gone" not found');
  t.regex(
    await messageOf({audiences: [], boundObjectRef: bound(own, {uid: 'x'})}),
    /^the UID in the bound object reference \(x\) does not match/,
  );
  t.is(
    await messageOf({audiences: [], boundObjectRef: bound(foreign)}),
    'node requested token bound to a pod scheduled on a different node',
  );
  t.is(await messageOf({audiences: ['a', 'b'], boundObjectRef: bound(own)}), 'node may only request 0 or 1 audiences');
  t.is(
    await messageOf({audiences: ['a'], boundObjectRef: bound(own)}),
    'audience "a" not found in pod spec volume, system:node:me is not authorized to request tokens for this audience',
  );
  granted.add('a');
  for (const audience of ['vault', 'csi', 'a'])
    t.is((await ask({audiences: [audience], boundObjectRef: bound(own)})).status?.token, 'signed', audience);
});

test('a node writes its own lease, CSINode and resource slices', async t => {
  const {mine} = await start();
  const leases = mine(kinds.leases);
  const aLease = (name: string, of = 'plat-node-lease') => leases.create({metadata: {name, namespace: of}, spec: {}});
  t.is(await refused(aLease('me', namespace)), 'can only access leases in the "plat-node-lease" system namespace');
  t.is(await refused(aLease('you')), 'can only access node lease with the same name as the requesting node');
  t.is(
    await refused(mine(kinds.csiNodes).create({metadata: {name: 'you'}, spec: {drivers: []}})),
    'can only access CSINode with the same name as the requesting node',
  );
  await t.notThrowsAsync(mine(kinds.csiNodes).create({metadata: {name: 'me'}, spec: {drivers: []}}));
  const slice = (nodeName: string) => ({
    metadata: {name: `s-${nodeName}`},
    spec: {nodeName, driver: 'd.example.com', pool: {name: 'p', generation: 1, resourceSliceCount: 1}, devices: []},
  });
  t.is(
    await refused(mine(kinds.resourceSlices).create(slice('you'))),
    'can only create ResourceSlice with the same NodeName as the requesting node',
  );
  await t.notThrowsAsync(mine(kinds.resourceSlices).create(slice('me')));
});

test('a node requests certificates in its own name', async t => {
  const {mine} = await start();
  const key = await generatePrivateKey();
  const ask = (
    commonName: string,
    signerName = 'plat.io/platlet-serving',
    request = createSigningRequest(key, {subject: {commonName, organizations: ['system:nodes']}}),
  ) =>
    mine(kinds.certificateSigningRequests).create({
      metadata: {generateName: 'csr-'},
      spec: {signerName, request: Buffer.from(request).toString('base64'), usages: ['digital signature', 'server auth']},
    });

  await t.notThrowsAsync(ask('system:node:me'));
  await t.notThrowsAsync(ask('anybody', 'example.com/signer'));
  for (const signer of ['plat.io/platlet-serving', 'plat.io/plat-apiserver-client-platlet']) {
    const status = await refusal(ask('system:node:you', signer));
    t.is(
      status.message,
      'certificatesigningrequests.certificates.plat.io "csr-" is forbidden: can only create a node CSR with CN=system:node:me',
    );
  }
  t.regex(await refused(ask('', 'plat.io/platlet-serving', 'nonsense')), /^unable to parse csr: /);
});

test('a node updates only size and conditions in the status of a claim', async t => {
  const {mine, of} = await start();
  await of(kinds.persistentVolumeClaims).create({
    metadata: {name: 'c', namespace},
    spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}},
  });
  const claims = mine(kinds.persistentVolumeClaims);
  await t.notThrowsAsync(
    claims.patch(
      'c',
      'merge',
      {status: {capacity: {storage: '1Gi'}, conditions: [{type: 'Resizing', status: 'True'}]}},
      {namespace, subresource: 'status'},
    ),
  );
  t.is(
    await refused(claims.patch('c', 'merge', {metadata: {labels: {a: 'b'}}}, {namespace, subresource: 'status'})),
    'node "me" is not allowed to update fields other than status.quantity and status.conditions',
  );
  t.is(await refused(claims.patch('c', 'merge', {metadata: {labels: {a: 'b'}}}, {namespace})), 'may only update PVC status');
});

test('a user that is no node is not restricted, and a node without a name may write nothing', async t => {
  const {of} = await start();
  await t.notThrowsAsync(of(kinds.nodes).patch('me', 'merge', {spec: {taints: [{key: 'a', effect: 'NoSchedule'}]}}));
  t.is(
    await refused(of(kinds.configMaps, {name: 'system:node:', groups: ['system:nodes']}).create({metadata: {name: 'm', namespace}})),
    'could not determine node from user "system:node:"',
  );
});
