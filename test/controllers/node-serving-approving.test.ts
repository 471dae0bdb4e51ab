import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {UserInfo} from '#src/api/user.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {parseFlags} from '#src/options/parse.js';
import {aPlane} from './plane.js';
import {nodeServingUsages, nodeUser, requestsOf, type RequestParts} from './requests.js';

const addresses = [
  {type: 'InternalIP', address: '10.0.0.7'},
  {type: 'Hostname', address: 'one'},
  {type: 'InternalDNS', address: 'one.nodes.example.com'},
];
const own = {dnsNames: ['one.nodes.example.com'], ipAddresses: ['10.0.0.7']};

/** A plane with the controller and a node, which requests a certificate. */
const requested = async (
  parts: Partial<RequestParts>,
  {flags = [], user = nodeUser}: {flags?: readonly string[]; user?: UserInfo} = {},
) => {
  const plane = await aPlane({
    controllers: ['node-serving-approving-controller', 'certificatesigningrequest-signing-controller'],
    controllerManagerArgs: flags,
  });
  const client = plane.client();
  await client.resource(kinds.nodes).create({metadata: {name: 'one'}, status: {addresses}});
  await client.resource(kinds.nodes).patch('one', 'merge', {status: {addresses}}, {subresource: 'status'});
  await client.resource(kinds.clusterRoleBindings).create({
    metadata: {name: 'create'},
    roleRef: {apiGroup: plane.naming.group('rbac.authorization'), kind: 'ClusterRole', name: 'system:node-bootstrapper'},
    subjects: [{kind: 'Group', apiGroup: plane.naming.group('rbac.authorization'), name: 'system:authenticated'}],
  });
  await requestsOf(plane, user).create({signer: plane.naming.signers.agentServing, usages: nodeServingUsages, ...own, ...parts});
  await plane.clock.drain();
  return plane;
};

const strict = [
  '--node-serving-approval-node-names=o*',
  '--node-serving-approval-dns-suffixes=nodes.example.com',
  '--node-serving-approval-cidrs=10.0.0.0/16',
  '--node-serving-approval-max-duration=24h',
];

test('a request with the names and addresses of its node is approved and signed', async t => {
  await using plane = await requested({expirationSeconds: 86_400}, {flags: strict});

  t.deepEqual(await requestsOf(plane).conditionsOf('req'), [
    {
      type: 'Approved',
      status: 'True',
      reason: 'AutoApproved',
      message: 'The names and addresses are those of the node, and the policy allows them.',
    },
  ]);
  t.is((await requestsOf(plane).issued()).length, 1);
});

const other: UserInfo = {name: 'system:node:two', groups: ['system:nodes', 'system:authenticated']};
const left: readonly [string, Partial<RequestParts>, Parameters<typeof requested>[1]?][] = [
  ['for a DNS name that is none of the node', {dnsNames: ['two.nodes.example.com']}],
  ['for an IP address that is none of the node', {ipAddresses: ['10.0.0.8']}],
  ['of another user than the node', {}, {user: other}],
  ['for a client certificate', {usages: ['digital signature', 'client auth']}],
  ['of a node whose name matches no pattern', {}, {flags: ['--node-serving-approval-node-names=worker-*,two']}],
  ['for a DNS name in another domain', {}, {flags: ['--node-serving-approval-dns-suffixes=example.org,odes.example.com']}],
  ['for an IP address in none of the ranges', {}, {flags: ['--node-serving-approval-cidrs=10.1.0.0/16']}],
  ['for a longer life than is allowed', {expirationSeconds: 90_000}, {flags: ['--node-serving-approval-max-duration=24h']}],
  ['without a life, if one is the longest', {}, {flags: ['--node-serving-approval-max-duration=24h']}],
];

for (const [title, parts, options] of left)
  test(`a request ${title} is left to others`, async t => {
    await using plane = await requested(parts, options);
    await plane.clock.advance(60_000);

    t.deepEqual(await requestsOf(plane).conditionsOf('req'), []);
  });

test('a request that comes before the node reports its addresses is approved afterwards', async t => {
  await using plane = await requested({ipAddresses: ['10.0.0.9']});
  t.deepEqual(await requestsOf(plane).conditionsOf('req'), []);

  const more = [...addresses, {type: 'ExternalIP', address: '10.0.0.9'}];
  await plane
    .client()
    .resource(kinds.nodes)
    .patch('one', 'merge', {status: {addresses: more}}, {subresource: 'status'});
  await plane.clock.advance(60_000);
  t.is((await requestsOf(plane).conditionsOf('req')).length, 1);
});

test('a value that is no range is refused', t => {
  t.throws(() => parseFlags(controllerManagerFlags, ['--node-serving-approval-cidrs=10.0.0.0']), {
    message: /--node-serving-approval-cidrs.*"10\.0\.0\.0" is not a range such as 10\.0\.0\.0\/16/,
  });
});
