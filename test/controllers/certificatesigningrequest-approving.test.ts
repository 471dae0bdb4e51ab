import test from 'ava';
import {approvingReconciler} from '#controllers/certificatesigningrequest-approving/reconcile.js';
import {recognizers} from '#controllers/certificatesigningrequest-approving/policy.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {isConflict} from '#src/api/status.js';
import {parseSigningRequest} from '#src/pki/signing-request.js';
import type {Plane} from '#src/plane/plane.js';
import {Expected} from '#src/runtime/controller.js';
import {attempt, contextOver} from './context.js';
import {aRequest, nodeClientUsages, nodeSubject, nodeUser, requestsOf, type RequestParts} from './requests.js';
import {aSigningPlane} from './signing-requests.js';

const plat = naming('plat');
const signer = plat.signers.apiserverClientAgent;
const nodeRequest = {signer, usages: nodeClientUsages};

/** Lets the group of nodes have certificates of that kind, as an administrator would. */
const allow = async (plane: Plane, kind: 'nodeclient' | 'selfnodeclient', group = 'system:nodes'): Promise<void> => {
  const {naming: words} = plane;
  await plane
    .client()
    .resource(kinds.clusterRoleBindings)
    .create({
      metadata: {name: `approve-${kind}`},
      roleRef: {
        apiGroup: words.group('rbac.authorization'),
        kind: 'ClusterRole',
        name: `system:${words.group('certificates')}:certificatesigningrequests:${kind}`,
      },
      subjects: [{kind: 'Group', apiGroup: words.group('rbac.authorization'), name: group}],
    });
};

/** A user with permission to create requests and nothing else. */
const letCreate = async (plane: Plane): Promise<void> => {
  const {naming: words} = plane;
  await plane
    .client()
    .resource(kinds.clusterRoleBindings)
    .create({
      metadata: {name: 'create'},
      roleRef: {apiGroup: words.group('rbac.authorization'), kind: 'ClusterRole', name: 'system:node-bootstrapper'},
      subjects: ['system:nodes', 'system:bootstrappers'].map(name => ({kind: 'Group', apiGroup: words.group('rbac.authorization'), name})),
    });
};

for (const [name, agent] of [
  ['plat', 'platlet'],
  ['kubernetes', 'kubelet'],
] as const) {
  test(`in the ${name} naming a node's request for itself is approved and gets its certificate`, async t => {
    await using plane = await aSigningPlane({naming: name});
    await letCreate(plane);
    await allow(plane, 'selfnodeclient');
    await requestsOf(plane, nodeUser).create({signer: plane.naming.signers.apiserverClientAgent, usages: nodeClientUsages});
    await plane.clock.drain();

    const requests = requestsOf(plane);
    t.deepEqual(await requests.conditionsOf('req'), [
      {
        type: 'Approved',
        status: 'True',
        reason: 'AutoApproved',
        message: `Auto approving self ${agent} client certificate after SubjectAccessReview.`,
      },
    ]);
    t.is((await requests.issued()).length, 1);
    t.truthy((await requests.get()).status?.conditions?.[0]?.lastUpdateTime);
  });
}

test('another user with permission to request for nodes is approved with the other message', async t => {
  await using plane = await aSigningPlane();
  await letCreate(plane);
  await allow(plane, 'nodeclient', 'system:bootstrappers');
  await requestsOf(plane, {name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers', 'system:authenticated']}).create(nodeRequest);
  await plane.clock.drain();

  t.deepEqual(
    (await requestsOf(plane).conditionsOf('req')).map(({message}) => message),
    ['Auto approving platlet client certificate after SubjectAccessReview.'],
  );
});

test('a node that may not ask for itself, but for nodes, is approved as anyone else', async t => {
  await using plane = await aSigningPlane();
  await letCreate(plane);
  await allow(plane, 'nodeclient');
  await requestsOf(plane, nodeUser).create(nodeRequest);
  await plane.clock.drain();

  t.is((await requestsOf(plane).conditionsOf('req'))[0]?.message, 'Auto approving platlet client certificate after SubjectAccessReview.');
});

test('a request that is recognized but not allowed is checked again, and approved once its requester is allowed', async t => {
  await using plane = await aSigningPlane();
  await letCreate(plane);
  await requestsOf(plane, nodeUser).create(nodeRequest);
  await plane.clock.advance(60_000);
  t.deepEqual(await requestsOf(plane).conditionsOf('req'), []);

  await allow(plane, 'selfnodeclient');
  await plane.clock.advance(120_000);

  t.is((await requestsOf(plane).conditionsOf('req'))[0]?.reason, 'AutoApproved');
});

test('a request that is not allowed is reported with the permissions that were checked', async t => {
  await using plane = await aSigningPlane();
  await letCreate(plane);
  const csr = await requestsOf(plane, nodeUser).create(nodeRequest);
  const reconcile = approvingReconciler(contextOver(plane, [csr], {}));

  await t.throwsAsync(reconcile({namespace: '', name: 'req'}, attempt), {
    instanceOf: Expected,
    message: 'recognized csr "req" as [selfnodeclient nodeclient] but subject access review was not approved',
  });
});

test('a decision that the cache does not know yet is not overwritten', async t => {
  await using plane = await aSigningPlane();
  await letCreate(plane);
  const stale = await requestsOf(plane, nodeUser).create(nodeRequest);
  await requestsOf(plane).setApproval('Denied');
  await allow(plane, 'selfnodeclient');
  const reconcile = approvingReconciler(contextOver(plane, [stale], {}));

  t.true(isConflict(await t.throwsAsync(reconcile({namespace: '', name: 'req'}, attempt))));
  t.deepEqual(
    (await requestsOf(plane).conditionsOf('req')).map(({type}) => type),
    ['Denied'],
  );
});

test('a decided request, one with a certificate and one that is gone are left alone', async t => {
  await using plane = await aSigningPlane();
  const parts = {apiVersion: 'certificates.plat.io/v1', metadata: {name: 'req'}, spec: (await aRequest(nodeRequest)).spec};
  for (const status of [
    {conditions: [{type: 'Denied', status: 'True'}]},
    {conditions: [{type: 'Approved', status: 'False'}]},
    {certificate: 'AAAA'},
  ]) {
    t.deepEqual(await approvingReconciler(contextOver(plane, [{...parts, status}], {}))({namespace: '', name: 'req'}, attempt), {
      kind: 'settled',
    });
  }
  t.deepEqual(await approvingReconciler(contextOver(plane, [], {}))({namespace: '', name: 'req'}, attempt), {kind: 'settled'});
});

test('a request that does not parse is an error to be tried again', async t => {
  await using plane = await aSigningPlane();
  const csr = {metadata: {name: 'req'}, spec: {request: Buffer.from('rubbish').toString('base64'), signerName: signer}};

  await t.throwsAsync(approvingReconciler(contextOver(plane, [csr], {}))({namespace: '', name: 'req'}, attempt), {
    message: 'unable to parse csr "req": PEM block type must be CERTIFICATE REQUEST',
  });
});

const recognized = async (parts: RequestParts, username = 'system:node:one'): Promise<string[]> => {
  const csr = await aRequest(parts);
  const request = parseSigningRequest(Buffer.from(csr.spec.request, 'base64'));
  const renamed = {...csr, spec: {...csr.spec, username}};
  return recognizers.filter(({recognizes}) => recognizes(renamed, request, plat)).map(({permission}) => permission);
};

test('a node is recognized by subject and usages, in any order, with or without key encipherment', async t => {
  for (const usages of [nodeClientUsages, ['client auth', 'key encipherment', 'digital signature']])
    t.deepEqual(await recognized({signer, usages}), ['selfnodeclient', 'nodeclient']);
  t.deepEqual(await recognized(nodeRequest, 'somebody'), ['nodeclient']);
});

const others: Readonly<Record<string, Partial<RequestParts>>> = {
  'another signer': {signer: plat.signers.apiserverClient},
  'no organization': {subject: {commonName: 'system:node:one'}},
  'another organization': {subject: {...nodeSubject, organizations: ['system:masters']}},
  'a second organization': {subject: {...nodeSubject, organizations: ['system:nodes', 'system:masters']}},
  'a name that is no node': {subject: {...nodeSubject, commonName: 'one'}},
  'a DNS name': {dnsNames: ['one']},
  'an email address': {emailAddresses: ['one@example.com']},
  'an IP address': {ipAddresses: ['10.0.0.1']},
  'a URI': {uris: ['spiffe://example.com/one']},
  'a missing usage': {usages: ['client auth']},
  'a usage more': {usages: [...nodeClientUsages, 'server auth']},
};
for (const [what, parts] of Object.entries(others)) {
  test(`a request with ${what} is not recognized`, async t => {
    t.deepEqual(await recognized({...nodeRequest, ...parts}), []);
  });
}
