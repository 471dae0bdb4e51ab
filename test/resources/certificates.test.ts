import test from 'ava';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {jane, problems, refusal} from './environment.js';
import {aRequest, base64, certificate, is, request, start} from './certificate-requests.js';

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
