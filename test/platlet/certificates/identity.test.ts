import {readlink} from 'node:fs/promises';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {requestsOf} from '#test/controllers/requests.js';
import {aJoinablePlane, certified, JoiningAgent, newRequest, settled, signer} from './joining-agent.js';

const node = {name: 'system:node:one', groups: ['system:nodes', 'system:authenticated']};
const hour = 3_600_000; // The life of certificates here.

const leafOf = (pem: string) => parseCertificateBundle(pem)[0]!;

test('an agent joins with a token, and keeps its certificate in its folder', async t => {
  await using plane = await aJoinablePlane();
  using agent = await JoiningAgent.at(plane);
  await using identity = await certified(plane, agent.join());

  t.deepEqual(identity.connection.user, node);
  t.is(agent.connections[0]!.user.name, 'system:bootstrap:abcdef');
  const current = agent.path('pki/platlet-client-current.pem');
  t.regex(await readlink(current), /\/pki\/platlet-client-\d{4}(-\d\d){5}\.pem$/);
  const settings = JSON.parse(await agent.read('settings')) as {users: object[]; clusters: {cluster: {server: string}}[]};
  t.deepEqual(settings.users, [{name: 'default-auth', user: {'client-certificate': current, 'client-key': current}}]);
  t.is(settings.clusters[0]!.cluster.server, 'https://plane.example:6443');
  const [request] = (await requestsOf(plane).resource.list()).items;
  t.regex(request!.metadata!.name!, /^csr-/);
  t.deepEqual(request!.spec.usages, ['digital signature', 'client auth']);
  t.is(request!.spec.signerName, plane.naming.signers.apiserverClientAgent);
});

test('an agent that starts again uses the certificate that it has', async t => {
  await using plane = await aJoinablePlane();
  using agent = await JoiningAgent.at(plane);
  await (await certified(plane, agent.join()))[Symbol.asyncDispose]();
  agent.stop();
  await using again = await settled(plane, agent.join({bootstrapFile: ''}));
  await using rotated = await settled(plane, agent.join({rotates: false}));

  t.deepEqual([again.connection.user, rotated.connection.user], [node, node]);
  t.is((await requestsOf(plane).names()).length, 1);
});

test('a certificate is renewed by itself after 70 to 90 percent of its life, and connections change to it', async t => {
  await using plane = await aJoinablePlane();
  using agent = await JoiningAgent.at(plane);
  await using identity = await certified(plane, agent.join());
  const first = leafOf(await agent.read('pki/platlet-client-current.pem'));
  const life = first.notAfter - first.notBefore;
  await plane.clock.advance(first.notBefore + life * 0.69 - plane.clock.now());
  t.is(identity.connection.later.length, 1);
  await plane.clock.advance(life * 0.22);

  t.is(identity.connection.later.length, 2);
  const second = await agent.read('pki/platlet-client-current.pem');
  t.true(second.startsWith(identity.connection.later[1]!.cert));
  t.true(leafOf(second).notAfter > first.notAfter);
  const users = (await requestsOf(plane).resource.list()).items.map(({spec}) => spec.username);
  t.true(users.includes('system:node:one'));
});

test('a renewal that fails keeps the certificate; the agent ends five minutes after its end if the server answers', async t => {
  await using plane = await aJoinablePlane();
  using agent = await JoiningAgent.at(plane);
  await using identity = await certified(plane, agent.join());
  let reason = '';
  identity.lost.catch((error: Error) => (reason = error.message));
  const bindings = plane.client().resource(kinds.clusterRoleBindings);
  await bindings.delete('platadm:platlet-bootstrap');
  await bindings.delete('platadm:node-autoapprove-certificate-rotation');
  await plane.clock.advance(0.9 * hour);
  t.deepEqual([identity.connection.later.length, reason], [1, '']);
  await plane.clock.advance(0.3 * hour);

  t.is(reason, 'It has been 5m0s since a valid client cert was found and the server is responsive, exiting.');
  const {body} = await agent.meter.exposition();
  t.regex(body, /^platlet_certificate_manager_client_expiration_renew_errors [1-9]\d*$/m);
  t.regex(body, /^platlet_certificate_manager_client_ttl_seconds -\d+/m);
  t.false(body.includes('csr-')); // No series for each request.
});

test('without renewals a request is found again after a restart, by its key', async t => {
  await using plane = await aJoinablePlane(signer);
  using agent = await JoiningAgent.at(plane);
  const first = agent.join({rotates: false});
  first.catch(() => {});
  const names = [await newRequest(plane)];
  t.regex(names[0]!, /^node-csr-[\w-]{43}$/);
  const key = await agent.read('pki/platlet-client.key.tmp');
  agent.stop();
  await t.throwsAsync(settled(plane, first), {message: /timed out waiting/});
  const second = agent.join({rotates: false});
  await settled(plane, plane.clock.advance(1000));
  t.deepEqual(await requestsOf(plane).names(), names);
  await requestsOf(plane).setApproval('Approved', names[0]!);
  await using identity = await settled(plane, second);

  t.deepEqual(identity.connection.user, node);
  t.true((await agent.read('pki/platlet-client-current.pem')).endsWith(key));
  await t.throwsAsync(agent.read('pki/platlet-client.key.tmp'), {code: 'ENOENT'});
});

const refusals: readonly (readonly [
  what: string,
  act: (plane: Awaited<ReturnType<typeof aJoinablePlane>>, name: string) => unknown,
  RegExp,
])[] = [
  [
    'denied',
    (plane, name) => requestsOf(plane).setApproval('Denied', name),
    /^certificate signing request is denied, reason: Test, message: $/,
  ],
  ['deleted', (plane, name) => requestsOf(plane).resource.delete(name), /^csr "node-csr-[\w-]+" was deleted$/],
  ['left for an hour', plane => plane.clock.advance(hour), /^timed out waiting for the certificate$/],
];
test('an agent ends when its request is denied, deleted or left alone', async t => {
  await using plane = await aJoinablePlane(signer);
  for (const [what, act, message] of refusals) {
    using agent = await JoiningAgent.at(plane);
    const before = await requestsOf(plane).names();
    const joining = agent.join({rotates: false});
    joining.catch(() => {});
    await act(plane, await newRequest(plane, before));

    await t.throwsAsync(settled(plane, joining), {message}, what);
    await t.throwsAsync(agent.read('settings'), {code: 'ENOENT'});
  }
});

test('a request of the same name for another signer is not used', async t => {
  await using plane = await aJoinablePlane(signer);
  using agent = await JoiningAgent.at(plane);
  const first = agent.join({rotates: false});
  first.catch(() => {});
  await newRequest(plane);
  agent.stop();
  await settled(
    plane,
    first.catch(() => {}),
  );
  const {resource, names} = requestsOf(plane);
  const {metadata, spec} = await resource.get((await names())[0]!);
  await resource.delete(metadata!.name!);
  await resource.create({metadata: {name: metadata!.name!}, spec: {...spec, signerName: 'example.com/other'}});

  await t.throwsAsync(settled(plane, agent.join({rotates: false})), {
    message: /^retrieved csr is not compatible: csr signerNames differ: new ".*", old "example.com\/other"$/,
  });
});

test('an agent that renews its certificate does not wait for the first one: until then its requests have no user', async t => {
  await using plane = await aJoinablePlane(signer);
  using agent = await JoiningAgent.at(plane);
  await using identity = await settled(plane, agent.join());
  t.is(identity.connection.first.name, 'system:anonymous');
  const name = await newRequest(plane);
  await requestsOf(plane).setApproval('Approved', name);
  await certified(plane, Promise.resolve(identity));

  t.deepEqual(identity.connection.user, node);
});

test('an agent whose certificate has expired, and that has no bootstrap settings, asks with it and works without a user', async t => {
  await using plane = await aJoinablePlane();
  using agent = await JoiningAgent.at(plane);
  await (await certified(plane, agent.join()))[Symbol.asyncDispose]();
  agent.stop();
  await plane.clock.advance(2 * hour);
  await using identity = await settled(plane, agent.join({bootstrapFile: ''}));
  t.is(identity.connection.first.name, 'system:anonymous');
  // Here the server lets it renew, which a real one does not.
  await certified(plane, Promise.resolve(identity));
  await using old = await settled(plane, agent.join({bootstrapFile: '', rotates: false}));

  t.deepEqual(old.connection.user, node);
});

test('without renewals the server is waited for, up to a minute', async t => {
  await using plane = await aJoinablePlane();
  using agent = await JoiningAgent.at(plane);
  agent.unreachableUntil = plane.clock.now() + 30_000;
  const begun = plane.clock.now();
  await using identity = await settled(plane, agent.join({rotates: false}));
  t.deepEqual(identity.connection.user, node);
  t.true(plane.clock.now() - begun >= 30_000);
  t.true(agent.recorded.lines.includes('info failed to connect to the API server'));

  using other = await JoiningAgent.at(plane);
  other.unreachableUntil = Infinity;
  await t.throwsAsync(settled(plane, other.join({rotates: false, nodeName: 'two'})), {message: 'connect ECONNREFUSED'});
  t.true(other.recorded.lines.includes('info error waiting for the API server to come up: timed out waiting to connect'));
});

test('settings with an expired certificate are replaced', async t => {
  await using plane = await aJoinablePlane();
  using agent = await JoiningAgent.at(plane);
  await (await settled(plane, agent.join({rotates: false})))[Symbol.asyncDispose]();
  const requests = requestsOf(plane);
  for (const name of await requests.names()) await requests.resource.delete(name!); // The cleaner's work.
  await plane.clock.advance(2 * hour);
  await using identity = await settled(plane, agent.join({rotates: false}));

  t.deepEqual(identity.connection.user, node);
  t.true(leafOf(await agent.read('pki/platlet-client-current.pem')).notAfter > plane.clock.now());
  t.true(agent.recorded.lines.includes('error failed to use the kubeconfig of the node'));
});

test('bootstrap settings that are missing are named', async t => {
  await using plane = await aJoinablePlane();
  using agent = await JoiningAgent.at(plane);

  await t.throwsAsync(agent.join({bootstrapFile: agent.path('none')}), {message: /--bootstrap-kubeconfig .*none/});
});
