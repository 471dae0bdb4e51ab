import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest, CertificateSigningRequestCondition as Condition} from '#src/api/types.js';
import {certificateSigningRequests} from '#src/resources/certificates/certificatesigningrequest.js';
import {jane, problems, refusal, startEnvironment, words} from './environment.js';
import {aRequest, base64, certificate, is, pem, start} from './certificate-requests.js';

const now = '2026-01-01T00:00:00Z';
const done = (type: string, more: Partial<Condition> = {}): Condition => is(type, {lastUpdateTime: now, lastTransitionTime: now, ...more});

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
