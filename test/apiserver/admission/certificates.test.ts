import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest, KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {clusterTrustBundleAttest} from '#src/apiserver/admission/certificates/cluster-trust-bundle-attest.js';
import {createPlugins} from '#src/apiserver/admission-plugins.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import type {Attributes, Authorizer} from '#src/api/authorization.js';
import {refusal, startEnvironment, words} from '#test/resources/environment.js';
import {aPluginContext} from './context.js';

const key = await generatePrivateKey();
const requestFor = (...organizations: string[]): string =>
  Buffer.from(createSigningRequest(key, {subject: {commonName: 'x', organizations}})).toString('base64');

const aRequest = (signerName = 'example.com/signer', request = requestFor()): CertificateSigningRequest => ({
  metadata: {name: 'req'},
  spec: {request, signerName},
});

/** Allows everything except signers, and those only as listed: `verb name`. Records the requests. */
const signersOnly = (...allowed: string[]) => {
  const requested: Attributes[] = [];
  const authorizer: Authorizer = {
    authorize(attributes) {
      if (attributes.resource?.resource !== 'signers') return {decision: 'allow'};
      requested.push(attributes);
      return {decision: allowed.includes(`${attributes.verb} ${attributes.resource.name}`) ? 'allow' : 'deny'};
    },
  };
  return {authorizer, requested};
};

const start = async (...allowed: string[]) => {
  const {authorizer, requested} = signersOnly(...allowed);
  const context = aPluginContext({authorizer});
  const plugins = createPlugins({enable: [], disable: ['NamespaceLifecycle']}, context);
  const env = await startEnvironment({admission: () => plugins});
  return {...env, requested, csrs: env.of(kinds.certificateSigningRequests)};
};

const approved = {type: 'Approved', status: 'True'};
const failed = {type: 'Failed', status: 'True'};

test('approving takes the verb approve on the signer or its domain', async t => {
  for (const allowed of ['approve example.com/signer', 'approve example.com/*']) {
    const {csrs} = await start(allowed);
    const made = await csrs.create(aRequest());
    await t.notThrowsAsync(csrs.update({...made, status: {conditions: [approved]}}, {subresource: 'approval'}));
  }
  const {csrs, requested} = await start('sign example.com/signer', 'approve example.com');
  const made = await csrs.create(aRequest());
  const refused = await refusal(csrs.update({...made, status: {conditions: [approved]}}, {subresource: 'approval'}));

  t.is(refused.code, 403);
  t.is(
    refused.message,
    'certificatesigningrequests.certificates.plat.io "req" is forbidden: user not permitted to approve requests with signerName "example.com/signer"',
  );
  t.deepEqual(
    requested.map(({verb, resource}) => [verb, resource?.group, resource?.version, resource?.name]),
    [
      ['approve', 'certificates.plat.io', '*', 'example.com/signer'],
      ['approve', 'certificates.plat.io', '*', 'example.com/*'],
    ],
  );
});

test('approving takes the verb even when nothing changes', async t => {
  const {csrs} = await start();
  const made = await csrs.create(aRequest());

  t.is((await refusal(csrs.update(made, {subresource: 'approval'}))).code, 403);
});

test('an approval that breaks the rules is refused before the approver is authorized', async t => {
  const {csrs} = await start();
  const made = await csrs.create(aRequest());

  t.is((await refusal(csrs.update({...made, status: {conditions: [failed]}}, {subresource: 'approval'}))).code, 422);
});

test('signing takes the verb sign, changes of metadata alone do not', async t => {
  const {csrs} = await start();
  const made = await csrs.create(aRequest());
  const refused = await refusal(csrs.update({...made, status: {conditions: [failed]}}, {subresource: 'status'}));

  t.is(
    refused.message,
    'certificatesigningrequests.certificates.plat.io "req" is forbidden: user not permitted to sign requests with signerName "example.com/signer"',
  );
  await t.notThrowsAsync(csrs.update({...made, metadata: {...made.metadata, labels: {a: 'b'}}}, {subresource: 'status'}));

  const other = await start('sign example.com/signer');
  const again = await other.csrs.create(aRequest());
  await t.notThrowsAsync(other.csrs.update({...again, status: {conditions: [failed]}}, {subresource: 'status'}));
});

test('a request for the group system:masters is refused for every signer that could grant it', async t => {
  const {csrs} = await start();
  const {apiserverClient, apiserverClientAgent, legacyUnknown} = words.signers;
  const masters = requestFor('devs', 'system:masters');

  t.is(
    (await refusal(csrs.create(aRequest(apiserverClient, masters)))).message,
    'certificatesigningrequests.certificates.plat.io "req" is forbidden: use of plat.io/plat-apiserver-client signer with system:masters group is not allowed',
  );
  t.is(
    (await refusal(csrs.create(aRequest(legacyUnknown, masters)))).message,
    'certificatesigningrequests.certificates.plat.io "req" is forbidden: use of plat.io/legacy-unknown signer with system:masters group is not allowed',
  );
  await t.notThrowsAsync(csrs.create(aRequest(apiserverClientAgent, masters)));
});

const jane: UserInfo = {name: 'jane', groups: []};
const attest = async (on: boolean, allowed: string[], more: Partial<AdmissionAttributes>): Promise<void> => {
  const {authorizer} = signersOnly(...allowed);
  await clusterTrustBundleAttest({naming: words, authorizer, gate: () => on}).validate!({
    operation: 'CREATE',
    group: words.group('certificates'),
    version: 'v1beta1',
    resource: 'clustertrustbundles',
    subresource: '',
    kind: 'ClusterTrustBundle',
    namespaced: false,
    namespace: '',
    name: 'b',
    user: jane,
    dryRun: false,
    warn() {},
    ...more,
  });
};
const bundle = (signerName: string, more: object = {}): KubeObject & {spec: object} => ({
  metadata: {name: 'b', ...more},
  spec: {signerName},
});

test('trust bundles of a signer need the attest permission when the resource is served', async t => {
  t.is(
    (await refusal(attest(true, [], {object: bundle('a.b/c')}))).message,
    'clustertrustbundles.certificates.plat.io "b" is forbidden: user not permitted to attest for signerName "a.b/c"',
  );
  await t.notThrowsAsync(attest(true, ['attest a.b/*'], {object: bundle('a.b/c')}));
  await t.notThrowsAsync(attest(true, [], {object: bundle('')}));
  await t.notThrowsAsync(attest(false, [], {object: bundle('a.b/c')}));
  await t.notThrowsAsync(
    attest(true, [], {operation: 'UPDATE', object: bundle('a.b/c', {finalizers: ['x/y']}), oldObject: bundle('a.b/c')}),
  );
  await t.throwsAsync(attest(true, [], {operation: 'UPDATE', object: bundle('a.b/c', {labels: {a: 'b'}}), oldObject: bundle('a.b/c')}));
});

test('plugins that ask an authorizer do not start without one', t => {
  const error = t.throws(() => createPlugins({enable: [], disable: []}, aPluginContext({authorizer: undefined})));

  t.is(error.message, 'CertificateApproval requires an authorizer');
});
