import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest, CertificateSigningRequestCondition as Condition} from '#src/api/types.js';
import {certificatePem} from '#src/pki/certificate.js';
import {createAuthority} from '#src/pki/authority.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {certificateSigningRequests} from '#src/resources/certificates/certificatesigningrequest.js';
import {jane, problems, refusal, startEnvironment, words} from './environment.js';

const key = await generatePrivateKey();
const request = Buffer.from(createSigningRequest(key, {subject: {commonName: 'jane'}})).toString('base64');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const pem = certificatePem(createAuthority(key, {commonName: 'ca', now: Date.parse('2026-01-01T00:00:00Z')}).certificate);
const certificate = base64(pem);

const aRequest = (spec: Partial<CertificateSigningRequest['spec']> = {}, name = 'req'): CertificateSigningRequest => ({
  metadata: {name},
  spec: {request, signerName: 'example.com/signer', usages: ['client auth'], ...spec},
});

const now = '2026-01-01T00:00:00Z';
const is = (type: string, more: Partial<Condition> = {}): Condition => ({type, status: 'True', ...more});
const done = (type: string, more: Partial<Condition> = {}): Condition => is(type, {lastUpdateTime: now, lastTransitionTime: now, ...more});

const start = async () => {
  const env = await startEnvironment();
  const csrs = env.of(kinds.certificateSigningRequests);
  /** Writes a status through a subresource. */
  const write = async (subresource: 'approval' | 'status' | '', status: CertificateSigningRequest['status']) => {
    const current = await csrs.get('req');
    return csrs.update({...current, status: status ?? {}}, subresource ? {subresource} : {});
  };
  return {...env, csrs, write};
};

test('the requester is the authenticated user, whatever the body claims', async t => {
  const {csrs} = await start();
  const made = await csrs.create({
    ...aRequest({username: 'root', uid: 'x', groups: ['system:masters'], extra: {a: ['b']}}),
    status: {certificate, conditions: [is('Approved')]},
  });

  t.deepEqual(made.spec, {
    request,
    signerName: 'example.com/signer',
    usages: ['client auth'],
    username: 'jane',
    uid: 'u1',
    groups: [...jane.groups],
    extra: {'example.com/team': ['a', 'b']},
  });
  t.deepEqual(made.status, {});
});

test('nothing but metadata changes through the main address', async t => {
  const {csrs} = await start();
  const made = await csrs.create(aRequest());
  const updated = await csrs.update({
    ...made,
    metadata: {...made.metadata, labels: {a: 'b'}},
    spec: {...made.spec, username: 'root'},
    status: {conditions: [is('Approved')]},
  });

  t.deepEqual(updated.spec, made.spec);
  t.deepEqual(updated.status, {});
  t.deepEqual(updated.metadata?.labels, {a: 'b'});
});

const usagesSorted =
  '"any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"';
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const long = 'a'.repeat(254);

const specCases: [title: string, spec: Partial<CertificateSigningRequest['spec']>, expected: string[]][] = [
  ['no usages are accepted', {usages: []}, []],
  ['the legacy signer is accepted', {signerName: 'plat.io/legacy-unknown'}, []],
  ['an unknown signer of the platform is accepted', {signerName: 'plat.io/other'}, []],
  ['ten minutes are enough', {expirationSeconds: 600}, []],
  [
    'less than ten minutes are not',
    {expirationSeconds: 599},
    ['spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)'],
  ],
  [
    'a negative duration is too short',
    {expirationSeconds: -1},
    ['spec.expirationSeconds: Invalid value: -1: may not specify a duration less than 600 seconds (10 minutes)'],
  ],
  ['a usage is known', {usages: ['Client Auth']}, [`spec.usages[0]: Unsupported value: "Client Auth": supported values: ${usagesSorted}`]],
  ['a usage is named once', {usages: ['any', 'any']}, ['spec.usages[1]: Duplicate value: "any"']],
  [
    'a request is PEM',
    {request: base64('x')},
    [`spec.request: Invalid value: "${base64('x')}": PEM block type must be CERTIFICATE REQUEST`],
  ],
  ['there is a signer', {signerName: ''}, ['spec.signerName: Required value']],
  [
    'a signer has a domain and a path',
    {signerName: 'a.b'},
    ['spec.signerName: Invalid value: "a.b": must be a fully qualified domain and path of the form \'example.com/signer-name\''],
  ],
  [
    'a signer has no more than that',
    {signerName: 'a.b/c/d'},
    ['spec.signerName: Invalid value: "a.b/c/d": must be a fully qualified domain and path of the form \'example.com/signer-name\''],
  ],
  [
    'the domain has two labels',
    {signerName: 'a/b'},
    ['spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots'],
  ],
  [
    'labels of the domain are lower case, the first invalid one is reported',
    {signerName: 'A.B/c'},
    [`spec.signerName: Invalid value: "A.B": validating label "A": ${label}`],
  ],
  ['the path is lower case', {signerName: 'a.b/C'}, [`spec.signerName: Invalid value: "C": validating label "C": ${subdomain}`]],
  ['the path is not empty', {signerName: 'a.b/'}, [`spec.signerName: Invalid value: "": validating label "": ${subdomain}`]],
  [
    'a piece of the path has 253 bytes at most',
    {signerName: `a.b/${long}`},
    [`spec.signerName: Invalid value: "${long}": validating label "${long}": must be no more than 253 characters`],
  ],
];

for (const [title, spec, expected] of specCases) {
  test(`requests: ${title}`, async t => {
    const {csrs} = await start();
    const act = csrs.create(aRequest(spec));

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else await t.notThrowsAsync(act);
  });
}

test('a request whose signature was made with another key is refused', async t => {
  const {csrs} = await start();
  const der = Buffer.from(Buffer.from(request, 'base64').toString().split('-----')[2]!, 'base64');
  der[der.length - 1]! ^= 1;
  const forged = base64(`-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`);

  t.regex((await problems(csrs.create(aRequest({request: forged}))))[0]!, /^spec\.request: Invalid value: ".*": x509: /);
});

for (const [name, ok] of [
  ['Upper_Case:1', true],
  ['.', false],
  ['a%b', false],
] as const) {
  test(`a request ${ok ? 'may' : 'may not'} be called ${name}`, async t => {
    const {csrs} = await start();
    const act = csrs.create(aRequest({}, name));

    if (ok) await t.notThrowsAsync(act);
    else t.is((await refusal(act)).code, 422);
  });
}

type Status = CertificateSigningRequest['status'];
const transitions: [title: string, before: Status, address: 'approval' | 'status', after: Status, outcome: string[]][] = [
  ['nothing becomes Approved through approval', {}, 'approval', {conditions: [is('Approved')]}, []],
  ['nothing becomes Denied through approval', {}, 'approval', {conditions: [is('Denied')]}, []],
  [
    'Approved does not become Denied',
    {conditions: [done('Approved')]},
    'approval',
    {conditions: [is('Denied')]},
    ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"'],
  ],
  [
    'Approved and Denied exclude each other',
    {conditions: [done('Approved')]},
    'approval',
    {conditions: [done('Approved'), is('Denied')]},
    ['status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'],
  ],
  [
    'the condition Approved is edited through approval',
    {conditions: [done('Approved')]},
    'approval',
    {conditions: [done('Approved', {reason: 'Why'})]},
    [],
  ],
  [
    'Failed is not added through approval',
    {},
    'approval',
    {conditions: [is('Failed')]},
    ['status.conditions: Forbidden: updates may not add a condition of type "Failed"'],
  ],
  ['Failed is added through status', {conditions: [done('Approved')]}, 'status', {conditions: [done('Approved'), is('Failed')]}, []],
  ['Failed is added to a request that is not approved', {}, 'status', {conditions: [is('Failed')]}, []],
  ['Failed is added beside a certificate', {certificate}, 'status', {certificate, conditions: [is('Failed')]}, []],
  ['Failed is edited through approval', {conditions: [done('Failed')]}, 'approval', {conditions: [done('Failed', {reason: 'Why'})]}, []],
  [
    'Failed stays',
    {conditions: [done('Failed')]},
    'status',
    {},
    ['status.conditions: Forbidden: updates may not remove a condition of type "Failed"'],
  ],
  [
    'Approved is not added through status',
    {},
    'status',
    {conditions: [is('Approved')]},
    ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'],
  ],
  [
    'other conditions come and go',
    {conditions: [done('Mine', {status: 'False'})]},
    'status',
    {conditions: [is('Other', {status: 'Unknown'})]},
    [],
  ],
  ['a certificate is set, whatever the conditions', {}, 'status', {certificate}, []],
  [
    'a certificate is not changed',
    {certificate},
    'status',
    {certificate: base64(`text\n${pem}`)},
    ['status.certificate: Forbidden: updates may not modify existing certificate content'],
  ],
  [
    'a certificate is not cleared',
    {certificate},
    'status',
    {},
    ['status.certificate: Forbidden: updates may not modify existing certificate content'],
  ],
  ['Denied is added after a certificate came', {certificate}, 'approval', {conditions: [is('Denied')]}, []],
];

for (const [title, before, address, after, outcome] of transitions) {
  test(`transitions: ${title}`, async t => {
    const {csrs, write} = await start();
    await csrs.create(aRequest());
    if (before?.certificate) await write('status', {certificate: before.certificate});
    for (const condition of before?.conditions ?? []) {
      await write(condition.type === 'Approved' || condition.type === 'Denied' ? 'approval' : 'status', {conditions: [condition]});
    }
    const act = write(address, after);

    if (outcome.length > 0) t.deepEqual(await problems(act), outcome);
    else await t.notThrowsAsync(act);
  });
}

const conditionCases: [title: string, conditions: Condition[], expected: string[]][] = [
  ['a type', [is('')], ['status.conditions[0].type: Required value']],
  ['a status', [is('Mine', {status: ''})], ['status.conditions[0].status: Required value']],
  [
    'True, when approved',
    [is('Approved', {status: 'False'})],
    ['status.conditions[0].status: Unsupported value: "False": supported values: "True"'],
  ],
  [
    'one of three, otherwise',
    [is('Mine', {status: 'true'})],
    ['status.conditions[0].status: Unsupported value: "true": supported values: "False", "True", "Unknown"'],
  ],
  ['a type of its own', [is('Mine'), is('Mine')], ['status.conditions[1].type: Duplicate value: "Mine"']],
];

for (const [title, conditions, expected] of conditionCases) {
  test(`a condition has ${title}`, async t => {
    const {csrs, write} = await start();
    await csrs.create(aRequest());

    t.deepEqual(await problems(write('approval', {conditions})), expected);
  });
}

const certificateCases: [title: string, text: string, detail: RegExp][] = [
  ['is PEM', 'x', /must contain at least one CERTIFICATE PEM block$/],
  [
    'consists of certificates only',
    pem.replaceAll('CERTIFICATE', 'PUBLIC KEY'),
    /only CERTIFICATE PEM blocks are allowed, found "PUBLIC KEY"$/,
  ],
  ['has no headers', pem.replace('-----\n', '-----\nA: b\n\n'), /no PEM block headers are permitted$/],
  [
    'is not an empty block',
    '-----BEGIN CERTIFICATE-----\n\n-----END CERTIFICATE-----\n',
    /found CERTIFICATE PEM block containing 0 certificates$/,
  ],
  [
    'can be parsed',
    '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    /^status\.certificate: Invalid value: "<certificate data>": \S+/,
  ],
];

for (const [title, text, detail] of certificateCases) {
  test(`an issued certificate ${title}`, async t => {
    const {csrs, write} = await start();
    await csrs.create(aRequest());

    t.regex((await problems(write('status', {certificate: base64(text)})))[0] ?? '', detail);
  });
}

test('several certificates with text around them may be issued', async t => {
  const {csrs, write} = await start();
  await csrs.create(aRequest());

  await t.notThrowsAsync(write('status', {certificate: base64(`first\n${pem}then\n${pem}end`)}));
});

test('times left out are filled in, and a transition keeps its time', async t => {
  const {csrs, write, clock} = await start();
  await csrs.create(aRequest());
  const first = await write('approval', {
    conditions: [is('Approved'), is('Mine', {lastUpdateTime: '2020-01-01T00:00:00Z', lastTransitionTime: '2020-01-02T00:00:00Z'})],
  });

  t.deepEqual(first.status?.conditions, [
    done('Approved'),
    is('Mine', {lastUpdateTime: '2020-01-01T00:00:00Z', lastTransitionTime: '2020-01-02T00:00:00Z'}),
  ]);

  await clock.advance(60_000);
  const second = await write('approval', {conditions: [is('Approved', {reason: 'Again'}), is('Mine', {status: 'False'})]});
  const later = '2026-01-01T00:01:00Z';

  t.deepEqual(second.status?.conditions, [
    is('Approved', {reason: 'Again', lastUpdateTime: later, lastTransitionTime: now}),
    is('Mine', {status: 'False', lastUpdateTime: later, lastTransitionTime: later}),
  ]);
});

test('edits of the verdict through status are dropped', async t => {
  const {csrs, write} = await start();
  await csrs.create(aRequest());
  await write('approval', {conditions: [is('Approved', {reason: 'Good'})]});
  const after = await write('status', {certificate, conditions: [is('Approved', {reason: 'Bad', lastUpdateTime: '2020-01-01T00:00:00Z'})]});

  t.deepEqual(after.status, {certificate, conditions: [done('Approved', {reason: 'Good'})]});
});

test('approval does not touch the certificate', async t => {
  const {csrs, write} = await start();
  await csrs.create(aRequest());

  t.deepEqual((await write('approval', {certificate, conditions: [is('Approved')]})).status, {conditions: [done('Approved')]});
});

const texts: [status: Status, text: string][] = [
  [{}, 'Pending'],
  [{conditions: [is('Failed')]}, 'Pending,Failed'],
  [{conditions: [is('Approved')], certificate}, 'Approved,Issued'],
  [{conditions: [is('Approved'), is('Failed')]}, 'Approved,Failed'],
  [{conditions: [is('Denied', {status: 'False'})]}, 'Denied'],
];

for (const [status, text] of texts) {
  test(`the table shows ${text}`, async t => {
    const {row} = await startEnvironment();
    const cells = await row(kinds.certificateSigningRequests, {
      ...aRequest({username: 'jane', expirationSeconds: 3600}),
      status: status ?? {},
    });

    t.deepEqual(cells, {
      Name: 'req',
      Age: '<unknown>',
      SignerName: 'example.com/signer',
      Requestor: 'jane',
      RequestedDuration: '60m',
      Condition: text,
    });
  });
}

test('requests are selected by signer', async t => {
  const {csrs} = await start();
  await csrs.create(aRequest());
  await csrs.create(aRequest({signerName: 'example.com/other'}, 'other'));

  t.deepEqual(
    (await csrs.list({fieldSelector: 'spec.signerName=example.com/other'})).items.map(({metadata}) => metadata?.name),
    ['other'],
  );
  t.is((await refusal(csrs.list({fieldSelector: 'spec.username=jane'}))).code, 400);
});

test('a certificate honours the request when it lasts about as long as requested', async t => {
  const {clock, server} = await startEnvironment();
  const context = {...server.registry.of(kinds.certificateSigningRequests).hooks(jane), clock};
  const year = 365 * 86_400;
  const counted = (signerName: string, expirationSeconds: number) => {
    const before = aRequest({signerName, expirationSeconds});
    return [
      ...certificateSigningRequests.subresources!['status']!.counts!({...before, status: {certificate}} as never, before as never, context),
    ].map(({name, labels}) => [name.split('_csr_')[1], labels['signerName']]);
  };

  t.deepEqual(counted(words.signers.agentServing, 10 * year), [
    ['requested_duration_total', words.signers.agentServing],
    ['honored_duration_total', words.signers.agentServing],
  ]);
  t.deepEqual(counted('example.com/signer', 600), [['requested_duration_total', 'other']]);
});

test('the spec of a request has no owner: it can never change', async t => {
  const {csrs} = await start();

  t.is((await csrs.create(aRequest())).metadata?.managedFields, undefined);
  t.deepEqual(
    (await csrs.create({...aRequest({}, 'two'), metadata: {name: 'two', labels: {a: 'b'}}})).metadata?.managedFields?.[0]?.fieldsV1,
    {'f:metadata': {'f:labels': {'.': {}, 'f:a': {}}}},
  );
});
