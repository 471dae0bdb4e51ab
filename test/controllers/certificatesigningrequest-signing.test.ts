import {execFileSync} from 'node:child_process';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {signingChecks} from '#controllers/certificatesigningrequest-signing/policy.js';
import {maximumTtlOf} from '#controllers/certificatesigningrequest-signing/key-files.js';
import {kinds} from '#src/api/kinds/index.js';
import {certificatePem} from '#src/pki/certificate.js';
import type {KeySpec} from '#src/pki/keys/keys.js';
import {parseSigningRequest} from '#src/pki/signing-request.js';
import {aRequest, nodeClientUsages, nodeServingUsages, nodeSubject, requestsOf, type RequestParts} from './requests.js';
import {anAuthority, signingFiles} from './signing-files.js';
import {aSigningPlane, type TestPlane, approved, generic, hour, minute, outcome, start} from './signing-requests.js';

const openssl = (() => {
  try {
    return execFileSync('openssl', ['version'], {encoding: 'utf8'}).trim();
  } catch {
    return undefined;
  }
})();

const keySpecs: Readonly<Record<string, KeySpec>> = {'RSA-2048': {kind: 'rsa'}, 'ECDSA P-256': {kind: 'ecdsa'}, Ed25519: {kind: 'ed25519'}};

for (const [keyName, key] of Object.entries(keySpecs)) {
  const encipherment = key.kind === 'rsa' ? ['key encipherment'] : [];
  for (const flow of ['client', 'serving'] as const) {
    const nodeCertificate = async (plane: TestPlane) => {
      const {signers: names} = plane.naming;
      const parts: RequestParts =
        flow === 'client'
          ? {key, signer: names.apiserverClientAgent, usages: [...nodeClientUsages, ...encipherment]}
          : {
              key,
              signer: names.agentServing,
              usages: [...nodeServingUsages, ...encipherment],
              dnsNames: ['one.example.com'],
              ipAddresses: ['10.0.0.1'],
            };
      return outcome(plane, parts);
    };

    test(`a node with a key of ${keyName} gets a ${flow} certificate`, async t => {
      await using plane = await aSigningPlane();
      const {issued, failed} = await nodeCertificate(plane);
      t.is(failed, undefined);
      const [certificate] = issued;
      t.is(issued.length, 1);
      t.is(certificate?.subject.commonName, nodeSubject.commonName);
      t.deepEqual(certificate?.subject.organizations, nodeSubject.organizations);
      if (flow === 'serving') t.deepEqual([certificate?.dnsNames, certificate?.ipAddresses], [['one.example.com'], ['10.0.0.1']]);
    });

    (openssl ? test : test.skip)(`openssl verifies the ${flow} certificate of a node with a key of ${keyName}`, async t => {
      await using plane = await aSigningPlane();
      const {
        issued: [certificate],
      } = await nodeCertificate(plane);
      const folder = mkdtempSync(join(tmpdir(), 'plat-openssl-'));
      const ca = await plane.client().resource(kinds.configMaps).get(plane.naming.rootCaConfigMap, {namespace: 'default'});
      writeFileSync(join(folder, 'ca.crt'), ca.data!['ca.crt']!);
      writeFileSync(join(folder, 'one.crt'), certificatePem(certificate!));
      const purpose =
        flow === 'client'
          ? ['-purpose', 'sslclient']
          : ['-purpose', 'sslserver', '-verify_hostname', 'one.example.com', '-verify_ip', '10.0.0.1'];
      const verdict = execFileSync(
        'openssl',
        ['verify', '-x509_strict', '-attime', String(start / 1000 + 60), '-CAfile', 'ca.crt', ...purpose.slice(0, 2), 'one.crt'],
        {cwd: folder, encoding: 'utf8'},
      );
      t.is(verdict.trim(), 'one.crt: OK');
    });
  }
}

test('a client of the API server chooses subject and alternative names freely', async t => {
  await using plane = await aSigningPlane();
  const {issued} = await outcome(plane, {
    signer: plane.naming.signers.apiserverClient,
    usages: ['client auth'],
    subject: {commonName: 'jane', organizations: ['dev', 'ops']},
    emailAddresses: ['jane@example.com'],
  });

  t.deepEqual(issued[0]?.subject.organizations, ['dev', 'ops']);
  t.deepEqual(issued[0]?.emailAddresses, ['jane@example.com']);
  t.deepEqual(issued[0]?.extendedUsages, ['client auth']);
});

test('the legacy signer signs anything, a request without usages too', async t => {
  await using plane = await aSigningPlane();
  const {issued} = await outcome(plane, {signer: plane.naming.signers.legacyUnknown, subject: {commonName: 'anything'}});

  t.is(issued[0]?.subject.commonName, 'anything');
  t.deepEqual([issued[0]?.keyUsage, issued[0]?.extendedUsages], [undefined, undefined]);
});

test('the legacy signer of a plane has an authority that the API server does not trust', async t => {
  await using plane = await aSigningPlane();
  const {issued} = await outcome(plane, {
    signer: plane.naming.signers.legacyUnknown,
    usages: ['client auth'],
    subject: {commonName: 'eve'},
  });
  const {issued: trusted} = await outcome(plane, {
    name: 'other',
    signer: plane.naming.signers.apiserverClient,
    usages: ['client auth'],
    subject: {commonName: 'eve'},
  });

  t.deepEqual([issued[0]?.issuer.commonName, trusted[0]?.issuer.commonName], ['plat-legacy-unknown-ca', 'plat-ca']);
});

test('no signer issues for the group of administrators, whatever its key pair and approver', async t => {
  const files = signingFiles(await anAuthority('ca', start));
  // A server that does not look at subjects: the signers do all the same.
  await using plane = await aSigningPlane({
    ...generic(files),
    apiserverArgs: ['--disable-admission-plugins=CertificateSubjectRestriction'],
  });
  for (const [index, signer] of Object.values(plane.naming.signers).entries()) {
    const {issued} = await outcome(plane, {
      name: `req-${index}`,
      signer,
      usages: ['client auth', 'digital signature'],
      subject: {commonName: 'system:node:eve', organizations: ['system:nodes', 'system:masters']},
    });
    t.deepEqual(issued, [], signer);
  }
});

test('a request without usages fails at the signers that need some, each in its own words', async t => {
  await using plane = await aSigningPlane();
  const {signers: names} = plane.naming;
  const messages = {
    [names.apiserverClient]: 'missing required usage for client certificate: client auth',
    [names.apiserverClientAgent]: 'usages did not match [client auth digital signature key encipherment]',
    [names.agentServing]: 'usages did not match [digital signature key encipherment server auth]',
  };
  for (const [index, [signer, message]] of Object.entries(messages).entries()) {
    const {issued, failed} = await outcome(plane, {
      name: `req-${index}`,
      signer,
      ...(signer === names.agentServing ? {dnsNames: ['one']} : {}),
    });
    t.deepEqual(issued, []);
    t.deepEqual(failed, {type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message});
  }
});

test('a request that failed is never looked at again', async t => {
  await using plane = await aSigningPlane();
  const requests = await approved(plane, {signer: plane.naming.signers.apiserverClient, usages: ['server auth']});
  const {metadata, status} = await requests.get();
  t.is(status?.conditions?.find(({type}) => type === 'Failed')?.lastUpdateTime, '2026-01-01T00:00:00Z');
  await plane.clock.advance(30 * minute);

  t.is((await requests.get()).metadata?.resourceVersion, metadata?.resourceVersion);
});

for (const [what, signer, setApproval] of [
  ['is pending', 'apiserverClient', undefined],
  ['was denied', 'apiserverClient', 'Denied'],
  ['another signer has to sign', 'apiserverServing', 'Approved'],
] as const) {
  test(`a request that ${what} is not signed`, async t => {
    await using plane = await aSigningPlane();
    const requests = requestsOf(plane);
    await requests.create({signer: plane.naming.signers[signer], usages: nodeClientUsages});
    if (setApproval) await requests.setApproval(setApproval);
    await plane.clock.advance(30 * minute);

    t.deepEqual(await requests.issued(), []);
  });
}

const objectionTable: readonly (readonly [
  signer: keyof typeof signingChecks,
  parts: Omit<RequestParts, 'signer'>,
  message: string | undefined,
])[] = [
  ['apiserverClientAgent', {usages: nodeClientUsages}, undefined],
  ['apiserverClientAgent', {usages: [...nodeClientUsages, 'key encipherment']}, undefined],
  ['apiserverClientAgent', {usages: [], subject: {commonName: 'x'}, dnsNames: ['a']}, 'subject organization is not system:nodes'],
  [
    'apiserverClientAgent',
    {subject: {...nodeSubject, organizations: ['system:nodes', 'more']}},
    'subject organization is not system:nodes',
  ],
  [
    'apiserverClientAgent',
    {dnsNames: ['a'], emailAddresses: ['a@b'], subject: {...nodeSubject, commonName: 'x'}},
    'DNS subjectAltNames are not allowed',
  ],
  ['apiserverClientAgent', {emailAddresses: ['a@b'], ipAddresses: ['10.0.0.1']}, 'Email subjectAltNames are not allowed'],
  ['apiserverClientAgent', {ipAddresses: ['10.0.0.1'], uris: ['spiffe://a/b']}, 'IP subjectAltNames are not allowed'],
  ['apiserverClientAgent', {uris: ['spiffe://a/b'], subject: {...nodeSubject, commonName: 'x'}}, 'URI subjectAltNames are not allowed'],
  [
    'apiserverClientAgent',
    {usages: ['any'], subject: {...nodeSubject, commonName: 'x'}},
    'subject common name does not begin with system:node:',
  ],
  ['apiserverClientAgent', {usages: nodeServingUsages}, 'usages did not match [client auth digital signature key encipherment]'],
  ['agentServing', {usages: nodeServingUsages, dnsNames: ['a']}, undefined],
  ['agentServing', {usages: [...nodeServingUsages, 'key encipherment'], ipAddresses: ['10.0.0.1']}, undefined],
  ['agentServing', {subject: {commonName: 'x'}}, 'subject organization is not system:nodes'],
  ['agentServing', {emailAddresses: ['a@b'], uris: ['spiffe://a/b']}, 'DNS or IP subjectAltName is required'],
  ['agentServing', {dnsNames: ['a'], emailAddresses: ['a@b'], uris: ['spiffe://a/b']}, 'Email subjectAltNames are not allowed'],
  ['agentServing', {dnsNames: ['a'], uris: ['spiffe://a/b'], usages: ['any']}, 'URI subjectAltNames are not allowed'],
  [
    'agentServing',
    {dnsNames: ['a'], usages: nodeClientUsages, subject: {...nodeSubject, commonName: 'x'}},
    'usages did not match [digital signature key encipherment server auth]',
  ],
  [
    'agentServing',
    {dnsNames: ['a'], usages: nodeServingUsages, subject: {...nodeSubject, commonName: 'x'}},
    'subject common name does not begin with system:node:',
  ],
  [
    'apiserverClient',
    {usages: ['client auth', 'digital signature', 'key encipherment'], subject: {commonName: 'jane'}, dnsNames: ['a']},
    undefined,
  ],
  ['apiserverClient', {usages: ['client auth', 'server auth', 'any']}, 'invalid usage for client certificate: server auth'],
  ['apiserverClient', {usages: ['digital signature']}, 'missing required usage for client certificate: client auth'],
  [
    'apiserverClient',
    {usages: ['client auth'], subject: {commonName: 'eve', organizations: ['dev', 'system:masters']}},
    'subject organization system:masters is not allowed',
  ],
  ['legacyUnknown', {usages: ['cert sign', 'any'], subject: {commonName: 'anything'}}, undefined],
  [
    'legacyUnknown',
    {subject: {commonName: 'eve', organizations: ['system:masters']}},
    'subject organization system:masters is not allowed',
  ],
];

test('each signer objects in the words of the field, and of several objections the first counts', async t => {
  for (const [signer, parts, message] of objectionTable) {
    const {spec} = await aRequest({signer: '', ...parts});
    t.is(
      signingChecks[signer](parseSigningRequest(Buffer.from(spec.request, 'base64')), spec.usages ?? []),
      message,
      JSON.stringify([signer, parts]),
    );
  }
});

test('certificates are valid as long as requested, at least ten minutes, at most the maximum, from five minutes earlier', async t => {
  await using plane = await aSigningPlane();
  const table: readonly (readonly [requested: number | undefined, fromNowMs: number])[] = [
    [undefined, 8760 * hour - 5 * minute],
    [600, 10 * minute],
    [28_799, 28_799_000],
    [28_800, 8 * hour - 5 * minute],
    [31_536_001, 8760 * hour - 5 * minute],
  ];
  for (const [index, [expirationSeconds, fromNowMs]] of table.entries()) {
    const {issued} = await outcome(plane, {
      name: `req-${index}`,
      signer: plane.naming.signers.apiserverClient,
      usages: ['client auth'],
      ...(expirationSeconds ? {expirationSeconds} : {}),
    });
    t.deepEqual([issued[0]?.notBefore, issued[0]?.notAfter], [start - 5 * minute, start + fromNowMs], String(expirationSeconds));
  }
});

test('the option sets the maximum, and none or zero means a year', async t => {
  await using plane = await aSigningPlane({controllerManagerArgs: ['--cluster-signing-duration=24h']});
  const {issued} = await outcome(plane, {signer: plane.naming.signers.apiserverClient, usages: ['client auth'], expirationSeconds: 90_000});

  t.is(issued[0]?.notAfter, start + 24 * hour - 5 * minute);
  t.is(maximumTtlOf({clusterSigningDuration: 0}), 8760 * hour);
});

test('signers that have no pair of their own do not act when others have one', async t => {
  const files = signingFiles(await anAuthority('own', start));
  await using plane = await aSigningPlane({
    controllerManagerArgs: [
      `--cluster-signing-platlet-serving-cert-file=${files.certificate}`,
      `--cluster-signing-platlet-serving-key-file=${files.key}`,
    ],
  });
  const {signers: names} = plane.naming;
  const serving = await outcome(plane, {name: 'serving', signer: names.agentServing, usages: nodeServingUsages, dnsNames: ['one']});
  const client = await outcome(plane, {name: 'client', signer: names.apiserverClient, usages: ['client auth']});

  t.is(serving.issued[0]?.issuer.commonName, 'own');
  t.deepEqual(client, {issued: [], failed: undefined});
});
