import {execFileSync} from 'node:child_process';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {signingChecks} from '#controllers/certificatesigningrequest-signing/policy.js';
import {maximumTtlOf, signingPlan, type SigningOptions} from '#controllers/certificatesigningrequest-signing/key-files.js';
import {signers} from '#controllers/certificatesigningrequest-signing/reconcile.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict} from '#src/api/status.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {certificatePem} from '#src/pki/certificate.js';
import type {KeySpec} from '#src/pki/keys/keys.js';
import {parseSigningRequest} from '#src/pki/signing-request.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {attempt, contextOver} from './context.js';
import {aPlane} from './plane.js';
import {aRequest, nodeClientUsages, nodeServingUsages, nodeSubject, requestsOf, type RequestParts} from './requests.js';
import {anAuthority, signingFiles, type SigningFiles} from './signing-files.js';

const start = Date.parse('2026-01-01T00:00:00Z');
const minute = 60_000;
const hour = 60 * minute;

type TestPlane = Plane & {readonly clock: VirtualClock};

/** A request that was made and approved, after everything that set off. */
const approved = async (plane: TestPlane, parts: RequestParts) => {
  const requests = requestsOf(plane);
  await requests.create(parts);
  await plane.clock.drain();
  // Those of nodes are approved without us.
  const {status} = await requests.get(parts.name);
  if (!status?.conditions) await requests.setApproval('Approved', parts.name);
  await plane.clock.drain();
  return requests;
};

/** The outcome of an approved request. */
const outcome = async (plane: TestPlane, parts: RequestParts) => {
  const requests = await approved(plane, parts);
  return {
    issued: await requests.issued(parts.name),
    failed: (await requests.conditionsOf(parts.name ?? 'req')).find(({type}) => type === 'Failed'),
  };
};

const generic = ({certificate, key}: SigningFiles): Pick<PlaneOptions, 'controllerManagerArgs'> => ({
  controllerManagerArgs: [`--cluster-signing-cert-file=${certificate}`, `--cluster-signing-key-file=${key}`],
});

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
      await using plane = await aPlane();
      const {issued, failed} = await nodeCertificate(plane);
      t.is(failed, undefined);
      const [certificate] = issued;
      t.is(issued.length, 1);
      t.is(certificate?.subject.commonName, nodeSubject.commonName);
      t.deepEqual(certificate?.subject.organizations, nodeSubject.organizations);
      if (flow === 'serving') t.deepEqual([certificate?.dnsNames, certificate?.ipAddresses], [['one.example.com'], ['10.0.0.1']]);
    });

    (openssl ? test : test.skip)(`openssl verifies the ${flow} certificate of a node with a key of ${keyName}`, async t => {
      await using plane = await aPlane();
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
  await using plane = await aPlane();
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
  await using plane = await aPlane();
  const {issued} = await outcome(plane, {signer: plane.naming.signers.legacyUnknown, subject: {commonName: 'anything'}});

  t.is(issued[0]?.subject.commonName, 'anything');
  t.deepEqual([issued[0]?.keyUsage, issued[0]?.extendedUsages], [undefined, undefined]);
});

test('the legacy signer of a plane has an authority that the API server does not trust', async t => {
  await using plane = await aPlane();
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
  await using plane = await aPlane({...generic(files), apiserverArgs: ['--disable-admission-plugins=CertificateSubjectRestriction']});
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
  await using plane = await aPlane();
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
  await using plane = await aPlane();
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
    await using plane = await aPlane();
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

test('certificates live as long as requested, at least ten minutes, at most the maximum, and begin five minutes earlier', async t => {
  await using plane = await aPlane();
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

test('the maximum comes from the option, and none or zero means a year', async t => {
  await using plane = await aPlane({controllerManagerArgs: ['--cluster-signing-duration=24h']});
  const {issued} = await outcome(plane, {signer: plane.naming.signers.apiserverClient, usages: ['client auth'], expirationSeconds: 90_000});

  t.is(issued[0]?.notAfter, start + 24 * hour - 5 * minute);
  t.is(maximumTtlOf({clusterSigningDuration: 0}), 8760 * hour);
});

test('signers that have no pair of their own do not act when others have one', async t => {
  const files = signingFiles(await anAuthority('own', start));
  await using plane = await aPlane({
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

const noFiles: SigningOptions = {
  clusterSigningCertFile: '',
  clusterSigningKeyFile: '',
  clusterSigningDuration: 0,
  clusterSigningPlatApiserverClientCertFile: '',
  clusterSigningPlatApiserverClientKeyFile: '',
  clusterSigningPlatletClientCertFile: '',
  clusterSigningPlatletClientKeyFile: '',
  clusterSigningPlatletServingCertFile: '',
  clusterSigningPlatletServingKeyFile: '',
  clusterSigningLegacyUnknownCertFile: '',
  clusterSigningLegacyUnknownKeyFile: '',
};

test('which signers act follows from the files: all with the generic pair, none with half of it, else those with their own', t => {
  const acting = (options: Partial<SigningOptions>) =>
    signingPlan({...noFiles, ...options}).map(({signer, certificate}) => `${signer} ${certificate}`);

  t.deepEqual(acting({}), []);
  t.deepEqual(acting({clusterSigningCertFile: 'a'}), []);
  t.deepEqual(acting({clusterSigningKeyFile: 'a'}), []);
  t.deepEqual(acting({clusterSigningCertFile: 'a', clusterSigningKeyFile: 'b'}), [
    'agentServing a',
    'apiserverClientAgent a',
    'apiserverClient a',
    'legacyUnknown a',
  ]);
  t.deepEqual(acting({clusterSigningLegacyUnknownCertFile: 'a', clusterSigningLegacyUnknownKeyFile: 'b'}), ['legacyUnknown a']);
  t.throws(() => acting({clusterSigningCertFile: 'a', clusterSigningLegacyUnknownCertFile: 'a', clusterSigningLegacyUnknownKeyFile: 'b'}), {
    message: /at the same time/,
  });
  t.throws(() => acting({clusterSigningLegacyUnknownCertFile: 'a'}), {message: /cannot specify cert without key/});
  t.throws(() => acting({clusterSigningLegacyUnknownKeyFile: 'a'}), {message: /cannot specify key without cert/});
});

const bad: Readonly<Record<string, readonly [prepare: () => Promise<SigningFiles>, message: RegExp]>> = {
  'a missing file': [() => Promise.resolve(signingFiles()), /no such file or directory/],
  'an empty file': [
    async () => {
      const files = signingFiles(await anAuthority('one', start));
      writeFileSync(files.key, '');
      return files;
    },
    /missing content/,
  ],
  'a key of another': [
    async () => {
      const [files, other] = [signingFiles(await anAuthority('one', start)), signingFiles(await anAuthority('two', start))];
      return {...files, key: other.key};
    },
    /private key does not match public key/,
  ],
  'two certificates': [
    async () => {
      const files = signingFiles();
      files.write(await anAuthority('one', start), await anAuthority('two', start));
      return files;
    },
    /expected 1 certificate, found 2/,
  ],
};
for (const [what, [prepare, message]] of Object.entries(bad)) {
  test(`${what} stops the start with a line that names flags, files and cause`, async t => {
    const files = await prepare();
    const error = await t.throwsAsync(aPlane(generic(files)), {message});

    t.true(error?.message.includes(`--cluster-signing-cert-file=${files.certificate} and --cluster-signing-key-file=${files.key}`));
    t.false(error?.message.includes('\n'));
  });
}

const issuerOf = async (plane: TestPlane, name: string): Promise<string | undefined> =>
  (await outcome(plane, {name, signer: plane.naming.signers.apiserverClient, usages: ['client auth']})).issued[0]?.issuer.commonName;

test('a changed pair is taken up within a minute; half of one changes nothing', async t => {
  const [one, two] = [await anAuthority('one', start), await anAuthority('two', start)];
  const [files, next] = [signingFiles(one), signingFiles(two)];
  await using plane = await aPlane(generic(files));
  t.is(await issuerOf(plane, 'before'), 'one');

  writeFileSync(files.certificate, certificatePem(two.certificate));
  await plane.clock.advance(minute);
  t.is(await issuerOf(plane, 'half'), 'one');

  files.write(two);
  await plane.clock.advance(minute);
  t.is(await issuerOf(plane, 'whole'), 'two');
  t.not(next.certificate, files.certificate);
});

test('a pair with a certificate too many makes signing fail until the file is mended, and then it is caught up with', async t => {
  const [one, two] = [await anAuthority('one', start), await anAuthority('two', start)];
  const files = signingFiles(one);
  await using plane = await aPlane(generic(files));
  files.write(two, one);
  await plane.clock.advance(minute);
  t.is(await issuerOf(plane, 'late'), undefined);
  t.deepEqual(
    (await requestsOf(plane).conditionsOf('late')).map(({type}) => type),
    ['Approved'],
  );

  files.write(two);
  await plane.clock.advance(5 * minute);
  t.is((await requestsOf(plane).issued('late'))[0]?.issuer.commonName, 'two');
});

test('nothing is signed by an authority that has expired, and certificates end with it', async t => {
  const files = signingFiles(await anAuthority('short', start, {lifetimeMs: hour}));
  await using plane = await aPlane(generic(files));
  const {issued} = await outcome(plane, {name: 'capped', signer: plane.naming.signers.apiserverClient, usages: ['client auth']});
  t.is(issued[0]?.notAfter, start + hour);

  await plane.clock.advance(2 * hour);
  t.is(await issuerOf(plane, 'late'), undefined);
  t.deepEqual(
    (await requestsOf(plane).conditionsOf('late')).map(({type}) => type),
    ['Approved'],
  );
});

test('a status that changed meanwhile is not overwritten: the write conflicts and is tried again', async t => {
  await using plane = await aPlane({controllerManagerArgs: ['--controllers=*,-csrsigning']});
  const requests = await approved(plane, {signer: plane.naming.signers.apiserverClient, usages: ['client auth']});
  const stale = await requests.get();
  await requests.resource.update({...stale, metadata: {...stale.metadata, labels: {changed: 'yes'}}});
  const files = signingFiles(await anAuthority('one', start));
  const options = {...noFiles, clusterSigningCertFile: files.certificate, clusterSigningKeyFile: files.key};

  const behind = await signers(contextOver(plane, [stale], options));
  t.true(isConflict(await t.throwsAsync(behind['apiserverClient']!({namespace: '', name: 'req'}, attempt))));
  const upToDate = await signers(contextOver(plane, [await requests.get()], options));
  await upToDate['apiserverClient']!({namespace: '', name: 'req'}, attempt);
  t.is((await requests.issued())[0]?.issuer.commonName, 'one');
});

test('a request approved while no signer ran is signed after the next start', async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-restart-'));
  const clock = new VirtualClock(start);
  const options = {dataDir, clock, listen: false, freeze: true} as const;
  {
    await using before = await startPlane({...options, controllerManagerArgs: ['--controllers=*,-csrsigning']});
    await approved({...before, clock}, {signer: before.naming.signers.apiserverClient, usages: ['client auth']});
    t.deepEqual(await requestsOf(before).issued(), []);
  }
  await using after = await startPlane(options);
  await clock.drain();

  t.is((await requestsOf(after).issued()).length, 1);
});
