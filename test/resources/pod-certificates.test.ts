import {constants, generateKeyPairSync, sign, type KeyObject} from 'node:crypto';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import type {Condition} from '#src/api/types.js';
import {createAuthority} from '#src/pki/authority.js';
import {certificatePem} from '#src/pki/certificate.js';
import {issueClientCertificate} from '#src/pki/issuing.js';
import {generatePrivateKey, publicKeyDer} from '#src/pki/keys/keys.js';
import {problems, refusal, startEnvironment} from './environment.js';

const namespace = 'default';
const minute = 60_000;
const now = Date.parse('2026-01-01T00:00:00Z');
const at = (minutes: number): string => new Date(now + minutes * minute).toISOString().replace('.000', '');

const key = await generatePrivateKey({kind: 'ed25519'});
const authority = createAuthority(await generatePrivateKey(), {commonName: 'ca', now});

type Spec = PodCertificateRequest['spec'];

const proven = (private_: KeyObject, signature: Buffer): Partial<Spec> => ({
  pkixPublicKey: publicKeyDer(private_).toString('base64'),
  proofOfPossession: signature.toString('base64'),
});
const uid = Buffer.from('u');

const aRequest = (spec: Partial<Spec> = {}, name = 'req'): PodCertificateRequest => ({
  metadata: {name, namespace},
  spec: {
    signerName: 'example.com/signer',
    podName: 'p',
    podUID: 'u',
    serviceAccountName: 's',
    serviceAccountUID: 'u',
    nodeName: 'n',
    nodeUID: 'u',
    ...(proven(key, sign(null, uid, key)) as Pick<Spec, 'pkixPublicKey' | 'proofOfPossession'>),
    ...spec,
  },
});

const start = (options = {}) => startEnvironment({gate: () => true, ...options});

const ec = await generatePrivateKey();
const p224 = await generatePrivateKey({kind: 'ecdsa', curve: 'P-224'});
const rsa = await generatePrivateKey({kind: 'rsa', bits: 3072});
const smallRsa = await generatePrivateKey({kind: 'rsa'});
const x25519 = generateKeyPairSync('x25519').privateKey;

const chainOf = async (minutes: number, of: KeyObject = key): Promise<string> =>
  certificatePem(
    (await issueClientCertificate(authority, {commonName: 'x', now: now + 5 * minute, lifetimeMs: minutes * minute - 5 * minute, key: of}))
      .chain[0]!,
  );

const chain = await chainOf(120);
const [short, long, foreign] = [await chainOf(59), await chainOf(60 * 25), await chainOf(120, ec)];

test('a request lasts a day by default, and is immutable', async t => {
  const {of} = await start();
  const requests = of(kinds.podCertificateRequests);
  const made = await requests.create({...aRequest(), status: {certificateChain: 'x'}});

  t.is(made.spec.maxExpirationSeconds, 86_400);
  t.deepEqual(made.status, {});
  const [first] = await problems(requests.update({...made, spec: {...made.spec, podName: 'other'}}));
  t.regex(first!, /^spec: Invalid value: .*: field is immutable$/);
});

const unproven = 'spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature';
const x25519Text = publicKeyDer(x25519).toString('base64');

const requestCases: [title: string, spec: Partial<Spec>, expected: string[]][] = [
  ['is signed with ECDSA', proven(ec, sign('sha256', uid, ec)), []],
  ['is signed with RSASSA-PSS', proven(rsa, sign('sha256', uid, {key: rsa, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 20})), []],
  ['is not signed with plain RSA', proven(rsa, sign('sha256', uid, rsa)), [unproven]],
  ['is signed by the key', {proofOfPossession: Buffer.from('x').toString('base64')}, [unproven]],
  ['is signed over the uid of the pod', {podUID: 'other'}, [unproven]],
  ['has a key', {pkixPublicKey: 'eA=='}, ['spec.pkixPublicKey: Invalid value: "eA==": must be a valid PKIX-serialized public key']],
  [
    'has a key that signs',
    {pkixPublicKey: x25519Text},
    [`spec.pkixPublicKey: Invalid value: "${x25519Text}": unknown public key type; supported types are Ed25519, ECDSA, and RSA`],
  ],
  [
    'has a strong curve',
    proven(p224, uid),
    ['spec.pkixPublicKey: Invalid value: "curve P-224": elliptic public keys must use curve P256 or P384'],
  ],
  [
    'has a long modulus',
    proven(smallRsa, uid),
    ['spec.pkixPublicKey: Invalid value: "2048-bit modulus": RSA keys must have modulus size 3072 or 4096'],
  ],
  [
    'has a key of some size',
    {pkixPublicKey: Buffer.alloc(10_241).toString('base64')},
    ['spec.pkixPublicKey: Too long: may not be more than 10240 bytes'],
  ],
  [
    'has a proof of some size',
    {proofOfPossession: Buffer.alloc(10_241).toString('base64')},
    ['spec.proofOfPossession: Too long: may not be more than 10240 bytes'],
  ],
  [
    'lasts an hour at least',
    {maxExpirationSeconds: 3599},
    ['spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]'],
  ],
  ['lasts 91 days at most', {maxExpirationSeconds: 7_862_400}, []],
  [
    'lasts a day with a signer of the platform',
    {signerName: 'plat.io/x', maxExpirationSeconds: 86_401},
    ['spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]'],
  ],
  [
    'names its pod',
    {nodeUID: '', serviceAccountUID: 'x'.repeat(129)},
    ['spec.serviceAccountUID: Too long: may not be more than 128 bytes', 'spec.nodeUID: Invalid value: "": must not be empty'],
  ],
  [
    'has annotations with a domain',
    {unverifiedUserAnnotations: {'a.b/c': 'd', e: 'f'}},
    ['spec.unverifiedUserAnnotations: Invalid value: "e": must be a domain-prefixed key (such as "acme.io/foo")'],
  ],
  ['has a signer', {signerName: ''}, ['spec.signerName: Required value']],
];

for (const [title, spec, expected] of requestCases) {
  test(`a request of a pod ${title}`, async t => {
    const {of} = await start();
    const act = of(kinds.podCertificateRequests).create(aRequest(spec));

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else await t.notThrowsAsync(act);
  });
}

const is = (type: string, more: Partial<Condition> = {}): Condition => ({
  type,
  status: 'True',
  reason: 'R',
  message: '',
  lastTransitionTime: at(0),
  ...more,
});

const issued = (more: Partial<NonNullable<PodCertificateRequest['status']>> = {}): NonNullable<PodCertificateRequest['status']> => ({
  conditions: [is('Issued')],
  certificateChain: chain,
  notBefore: at(0),
  beginRefreshAt: at(60),
  notAfter: at(120),
  ...more,
});
const ca = certificatePem(authority.certificate);

const outcomeCases: [title: string, status: NonNullable<PodCertificateRequest['status']>, expected: string[]][] = [
  ['is issued', issued(), []],
  ['is issued with the chain', issued({certificateChain: chain + ca}), []],
  ['is denied', {conditions: [is('Denied')]}, []],
  [
    'has one outcome',
    {conditions: [is('Denied'), is('Failed')]},
    ['status.conditions.[1].type: Invalid value: "Failed": There may be at most one condition with type "Issued", "Denied", or "Failed"'],
  ],
  [
    'has an outcome that is so',
    {conditions: [is('Denied', {status: 'False'})]},
    ['status.conditions.[0].status: Unsupported value: "False": supported values: "True"'],
  ],
  [
    'has a known outcome',
    {conditions: [is('Odd')]},
    ['status.conditions.[0].type: Unsupported value: "Odd": supported values: "Issued", "Denied", "Failed"'],
  ],
  [
    'has nothing else when it is denied',
    issued({conditions: [is('Denied')]}),
    ['status: Invalid value: non-condition status fields must be empty when denying or failing the PodCertificateRequest'],
  ],
  [
    'has nothing before its outcome',
    issued({conditions: []}),
    ['status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed"'],
  ],
  [
    'has a certificate when it is issued',
    issued({certificateChain: ''}),
    ['status.certificateChain: Invalid value: "": issued certificate chain must contain at least one certificate'],
  ],
  [
    'is issued to its key',
    issued({certificateChain: foreign}),
    [`status.certificateChain: Invalid value: ${JSON.stringify(foreign)}: leaf certificate was not issued to the requested public key`],
  ],
  [
    'has whole times',
    {conditions: [is('Issued')], certificateChain: chain},
    [
      'status.notBefore: Required value: must be present and consistent with the issued certificate',
      'status.notAfter: Required value: must be present and consistent with the issued certificate',
      'status.beginRefreshAt: Required value: must be present and in the range [notbefore+10min, notafter-10min]',
    ],
  ],
  [
    'begins with its certificate',
    issued({notBefore: at(1)}),
    [`status.notBefore: Invalid value: "${at(1)}": must be set to the NotBefore time encoded in the leaf certificate`],
  ],
  [
    'ends with its certificate',
    issued({notAfter: at(1)}),
    [`status.notAfter: Invalid value: "${at(1)}": must be set to the NotAfter time encoded in the leaf certificate`],
  ],
  [
    'lasts an hour',
    issued({certificateChain: short, notAfter: at(59)}),
    ['status.certificateChain: Invalid value: 3540000000000: leaf certificate lifetime must be >= 1 hour'],
  ],
  [
    'lasts no longer than requested',
    issued({certificateChain: long, notAfter: at(1500)}),
    ['status.certificateChain: Invalid value: 90000000000000: leaf certificate lifetime must be <= spec.maxExpirationSeconds (86400)'],
  ],
  [
    'is not renewed at once',
    issued({beginRefreshAt: at(9)}),
    [`status.beginRefreshAt: Invalid value: "${at(9)}": must be at least 10 minutes after status.notBefore`],
  ],
  [
    'is renewed in time',
    issued({beginRefreshAt: at(111)}),
    [`status.beginRefreshAt: Invalid value: "${at(111)}": must be at least 10 minutes before status.notAfter`],
  ],
  [
    'has certificates only',
    issued({certificateChain: chain + ca.replaceAll('CERTIFICATE', 'KEY')}),
    [
      `status.certificateChain: Invalid value: ${JSON.stringify(chain + ca.replaceAll('CERTIFICATE', 'KEY'))}: issued certificate chain must consist entirely of CERTFICATE PEM blocks`,
    ],
  ],
];

for (const [title, status, expected] of outcomeCases) {
  test(`the outcome of a request of a pod ${title}`, async t => {
    const {of} = await start();
    const requests = of(kinds.podCertificateRequests);
    const made = await requests.create(aRequest());
    const act = requests.update({...made, status}, {subresource: 'status'});

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else t.deepEqual((await act).status, status);
  });
}

test('an outcome is final, and has a transition time', async t => {
  const {of} = await start();
  const requests = of(kinds.podCertificateRequests);
  const made = await requests.create(aRequest());
  const {lastTransitionTime: _, ...timeless} = is('Denied');
  t.deepEqual(await problems(requests.update({...made, status: {conditions: [timeless as Condition]}}, {subresource: 'status'})), [
    'status.conditions[0].lastTransitionTime: Required value',
  ]);
  const denied = await requests.update({...made, status: {conditions: [is('Denied')]}}, {subresource: 'status'});

  t.deepEqual(denied.status?.conditions, [is('Denied')]);
  t.deepEqual(
    await problems(requests.update({...denied, status: {conditions: [is('Denied', {reason: 'Other'})]}}, {subresource: 'status'})),
    ['status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed'],
  );
  t.deepEqual(await problems(requests.update({...denied, status: {}}, {subresource: 'status'})), [
    'status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed',
  ]);
});

test('a clock that is far off is reported', async t => {
  const {of, clock} = await start();
  const requests = of(kinds.podCertificateRequests);
  const made = await requests.create(aRequest());
  await clock.advance(5 * minute);

  t.deepEqual(await problems(requests.update({...made, status: issued()}, {subresource: 'status'})), [
    `status.notBefore: Invalid value: "${at(0)}": must be set to within 5 minutes of plat-apiserver's current time`,
  ]);
});

test('a user without the sign permission on the signer may not update the status', async t => {
  const {of} = await start({
    authorizer: {
      authorize: ({resource}: {resource?: {resource: string}}) => ({decision: resource?.resource === 'signers' ? 'noOpinion' : 'allow'}),
    },
  });
  const requests = of(kinds.podCertificateRequests);
  const made = await requests.create(aRequest());
  const refused = await refusal(requests.update({...made, status: issued()}, {subresource: 'status'}));

  t.is(refused.code, 422);
  t.is(refused.details?.causes?.[0]?.message, 'Forbidden: User "jane" is not permitted to "sign" for signer "example.com/signer"');
  t.is(
    (await refusal(requests.update({...made, status: {conditions: [is('Denied')]}}, {subresource: 'status'}))).details?.causes?.[0]?.field,
    'spec.signerName',
  );
  await t.notThrowsAsync(requests.update(made, {subresource: 'status'}));
});

test('requests of pods are selected by signer, pod and node', async t => {
  const {of} = await start();
  const requests = of(kinds.podCertificateRequests);
  await requests.create(aRequest());
  await requests.create(aRequest({signerName: 'example.com/other', podName: 'q', nodeName: 'm'}, 'other'));

  for (const fieldSelector of ['spec.signerName=example.com/other', 'spec.podName=q', 'spec.nodeName=m']) {
    const {items} = await requests.list({namespace, fieldSelector});
    t.deepEqual(
      items.map(({metadata}) => metadata?.name),
      ['other'],
      fieldSelector,
    );
  }
});
