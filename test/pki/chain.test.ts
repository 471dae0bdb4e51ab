import test, {type ExecutionContext} from 'ava';
import {createAuthority, signRequest, type Authority} from '#src/pki/authority.js';
import {
  certificatePem,
  fingerprint,
  parseCertificate,
  parseCertificates,
  parseCertificatesBer,
  type Certificate,
} from '#src/pki/certificate.js';
import {buildCertificate} from '#src/pki/certificate-builder.js';
import {checkIssuedCertificate} from '#src/resources/certificates/issued-certificate.js';
import {trustAnchors, verifyChain, type ChainVerifyOptions} from '#src/pki/chain.js';
import {checkHost, coversHost} from '#src/pki/host-names.js';
import {
  createSelfSignedServing,
  hostAlternativeNames,
  issueClientCertificate,
  issueServingCertificate,
  keyPairPem,
} from '#src/pki/issuing.js';
import {parseKeyPair} from '#src/pki/key-pair.js';
import {generatePrivateKey, publicKeyDer} from '#src/pki/keys/keys.js';
import {toPem} from '#src/pki/encoding/pem.js';
import {createSigningRequest, parseSigningRequest} from '#src/pki/signing-request.js';
import {certificateUsages} from '#src/pki/usages.js';

const now = Date.parse('2026-01-01T00:00:00Z');
const day = 86_400_000;
const root = createAuthority(await generatePrivateKey(), {commonName: 'root', now});
const stranger = createAuthority(await generatePrivateKey(), {commonName: 'root', now});
const client = (await issueClientCertificate(root, {commonName: 'ann', organizations: ['dev'], now})).chain[0];
const server = (await issueServingCertificate(root, {commonName: 's', hosts: ['a.b', '*.c.d', '10.0.0.1', '::1'], now})).chain[0];

interface SubOptions {
  readonly pathLength?: number;
  readonly isAuthority?: boolean;
  readonly usages?: readonly string[];
  readonly notAfter?: number;
}

const subordinate = async (by: Authority, commonName: string, options: SubOptions = {}): Promise<Authority> => {
  const {pathLength, isAuthority = true, usages = ['cert sign'], notAfter = now + 30 * day} = options;
  const key = await generatePrivateKey();
  const template = {
    subject: {commonName},
    validity: {notBefore: now, notAfter},
    publicKeyInfo: publicKeyDer(key),
    usages: certificateUsages(usages),
    basicConstraints: {isAuthority, pathLength},
  };
  return {
    key,
    certificate: parseCertificate(
      buildCertificate(template, {key: by.key, name: by.certificate.subject.raw, keyIdentifier: by.certificate.subjectKeyIdentifier}),
    ),
  };
};

const verdict = (leaf: Certificate, terms: Partial<ChainVerifyOptions> = {}) => {
  const found = verifyChain(leaf, {anchors: trustAnchors([root.certificate]), usage: 'client auth', now, ...terms});
  return found.verified ? found.chain.map(({subject}) => subject.commonName).join(' < ') : found;
};

const refused = (t: ExecutionContext, found: ReturnType<typeof verdict>, reason: string, message: RegExp) => {
  if (typeof found === 'string') return t.fail(`verified ${found}`);
  t.is<string, string>(found.reason, reason);
  t.regex(found.message, message);
};

test('verifies a client certificate under its authority', t => {
  t.is(verdict(client), 'ann < root');
  t.is(verdict(client, {anchors: trustAnchors([stranger.certificate, root.certificate])}), 'ann < root');
});

test('refuses a certificate outside its time, by the clock it is given', t => {
  t.deepEqual(verdict(client, {now: client.notAfter + 1000}), {
    verified: false,
    reason: 'expired',
    message: 'x509: certificate has expired or is not yet valid: current time 2027-01-01T00:00:01Z is after 2027-01-01T00:00:00Z',
  });
  refused(t, verdict(client, {now: client.notBefore - 1}), 'expired', /is before/);
  t.is(verdict(client, {now: client.notAfter}), 'ann < root');
});

test('refuses a certificate of another authority, even one of the same name', t => {
  t.deepEqual(verdict(client, {anchors: trustAnchors([])}), {
    verified: false,
    reason: 'unknown authority',
    message: 'x509: certificate signed by unknown authority',
  });
  t.like(verdict(client, {anchors: trustAnchors([stranger.certificate])}), {
    reason: 'unknown authority',
    message:
      'x509: certificate signed by unknown authority (possibly because of "x509: ECDSA verification failure" while trying to verify candidate authority certificate "root")',
  });
});

test('refuses the wrong usage', t => {
  t.deepEqual(verdict(server), {verified: false, reason: 'wrong usage', message: 'x509: certificate specifies an incompatible key usage'});
  t.is(verdict(server, {usage: 'server auth'}), 's < root');
  t.is(verdict(server, {usage: 'any'}), 's < root');
});

test('verifies through intermediates in any order, and only with them', async t => {
  const one = await subordinate(root, 'one');
  const two = await subordinate(one, 'two');
  const leaf = (await issueClientCertificate(two, {commonName: 'leaf', now})).chain[0];

  t.is(verdict(leaf, {intermediates: [root.certificate, one.certificate, two.certificate]}), 'leaf < two < one < root');
  t.like(verdict(leaf, {intermediates: [one.certificate]}), {reason: 'unknown authority'});
  t.is(verdict(leaf, {anchors: trustAnchors([two.certificate])}), 'leaf < two');
  t.is(verdict(client, {anchors: trustAnchors([client])}), 'ann');
});

const weak: Record<string, [SubOptions, RegExp]> = {
  'is no authority': [{isAuthority: false}, /cannot sign this kind/],
  'may not sign certificates': [{usages: ['digital signature']}, /cannot sign this kind/],
  'has expired': [{notAfter: now - 1000}, /expired/],
};
for (const [what, [options, message]] of Object.entries(weak)) {
  test(`refuses a chain through a certificate that ${what}`, async t => {
    const weakling = await subordinate(root, 'weak', options);
    const leaf = parseCertificate(
      buildCertificate(
        {
          subject: {commonName: 'x'},
          validity: {notBefore: now, notAfter: now + day},
          publicKeyInfo: publicKeyDer(weakling.key),
          usages: certificateUsages([]),
          basicConstraints: {isAuthority: false, pathLength: undefined},
        },
        {key: weakling.key, name: weakling.certificate.subject.raw},
      ),
    );

    refused(t, verdict(leaf, {intermediates: [weakling.certificate]}), 'unknown authority', message);
  });
}

test('keeps to a path length, and to the usages of an intermediate', async t => {
  const one = await subordinate(root, 'one', {pathLength: 0});
  const two = await subordinate(one, 'two');
  const serving = await subordinate(root, 'serving', {usages: ['cert sign', 'server auth']});
  const leafOf = async (by: Authority) => (await issueClientCertificate(by, {commonName: 'leaf', now})).chain[0];

  t.is(verdict(await leafOf(one), {intermediates: [one.certificate]}), 'leaf < one < root');
  refused(t, verdict(await leafOf(two), {intermediates: [one.certificate, two.certificate]}), 'unknown authority', /path length/);
  t.like(verdict(await leafOf(serving), {intermediates: [serving.certificate]}), {reason: 'wrong usage'});
});

test('gives up on a maze of intermediates', async t => {
  const key = await generatePrivateKey();
  const twins = Array.from({length: 12}, () => createAuthority(key, {commonName: 'twin', now}).certificate);
  const leaf = (await issueClientCertificate({key, certificate: twins[0]!}, {commonName: 'x', now})).chain[0];

  refused(t, verdict(leaf, {intermediates: twins}), 'invalid', /attempts limit/);
});

test('refuses a leaf with name constraints or unknown critical extensions', t => {
  const with_ = (oid: string, critical: boolean): Certificate => ({
    ...client,
    extensions: [...client.extensions, {oid, critical, value: Buffer.alloc(0)}],
  });

  t.like(verdict(with_('1.2.3', true)), {message: 'x509: unhandled critical extension'});
  t.like(verdict(with_('2.5.29.30', false)), {message: 'x509: unhandled critical extension'});
  t.is(verdict(with_('1.2.3', false)), 'ann < root');
});

test('refuses a tampered certificate', t => {
  const raw = Buffer.from(client.raw);
  raw[raw.indexOf('ann')]! ^= 2;

  refused(t, verdict(parseCertificate(raw)), 'unknown authority', /ECDSA verification failure/);
});

test('refuses a certificate that states two signature algorithms', t => {
  const raw = Buffer.from(client.raw);
  const identifier = Buffer.from('2a8648ce3d040302', 'hex');
  raw[raw.lastIndexOf(identifier) + identifier.length - 1] = 3;

  t.throws(() => parseCertificate(raw), {message: /inner and outer signature algorithm identifiers don't match/});
});

test('matches hosts by alternative names alone', t => {
  for (const host of ['a.b', 'A.B.', 'x.c.d', '10.0.0.1', '::1', '[::1]', '0:0:0:0:0:0:0:1']) t.true(coversHost(server, host), host);
  for (const host of ['s', 'b', 'c.d', 'x.y.c.d', '10.0.0.2', '', '.c.d']) t.false(coversHost(server, host), host);
  t.throws(() => checkHost(server, 'x'), {message: 'x509: certificate is valid for a.b, *.c.d, 10.0.0.1, ::1, not x'});
  t.throws(() => checkHost(client, 'x'), {message: 'x509: certificate is not valid for any names, but wanted to match x'});
});

test('makes a self-signed serving pair that its own authority vouches for', async t => {
  const pair = await createSelfSignedServing({host: 'localhost', hosts: ['127.0.0.1', 'localhost'], now});
  const {certificate, key} = keyPairPem(pair);
  const {chain} = parseKeyPair(certificate, key);

  t.is(chain.length, 2);
  t.deepEqual([chain[0].dnsNames, chain[0].ipAddresses], [['localhost'], ['127.0.0.1']]);
  t.is(
    verdict(chain[0], {anchors: trustAnchors([chain[1]!]), usage: 'server auth', now: now + 300 * day}),
    'localhost@1767225600 < localhost-ca@1767225600',
  );
});

test('sorts hosts into DNS names and addresses', t => {
  t.like(hostAlternativeNames(['a', '10.0.0.1', 'a', '::ffff:10.0.0.1', '::1']), {dnsNames: ['a'], ipAddresses: ['10.0.0.1', '::1']});
});

const pem = certificatePem(client);
const ber = Buffer.concat([Buffer.of(0x30, 0x80), client.raw.subarray(4), Buffer.of(0, 0)]);

test('accepts usual certificates as issued certificates', t => {
  for (const content of [
    `text\n${pem}more\n${certificatePem(root.certificate)}end`,
    toPem('CERTIFICATE', Buffer.concat([client.raw, server.raw])),
    toPem('CERTIFICATE', ber),
  ]) {
    t.notThrows(() => checkIssuedCertificate(Buffer.from(content)));
  }
  t.deepEqual(parseCertificatesBer(ber).map(fingerprint), [fingerprint(client)]);
  t.throws(() => parseCertificates(ber), {message: /indefinite length/});
});

for (const [what, content, message] of [
  ['text', 'text', 'must contain at least one CERTIFICATE PEM block'],
  ['a key', pem + toPem('EC PRIVATE KEY', Buffer.of(1)), 'only CERTIFICATE PEM blocks are allowed, found "EC PRIVATE KEY"'],
  ['headers', pem.replace('-----\n', '-----\nA: b\n\n'), 'no PEM block headers are permitted'],
  ['an empty block', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n', 'found CERTIFICATE PEM block containing 0 certificates'],
  ['junk in a block', toPem('CERTIFICATE', Buffer.from('junk')), /^(asn1|x509): /],
  ['trailing bytes in a block', toPem('CERTIFICATE', Buffer.concat([client.raw, Buffer.of(0)])), 'x509: malformed certificate'],
] as const) {
  test(`refuses as issued certificates input with ${what}`, t => {
    t.throws(() => checkIssuedCertificate(Buffer.from(content)), {message});
  });
}

test('the chain accepts certificates issued from a request', t => {
  const der = signRequest(root, parseSigningRequest(createSigningRequest(root.key, {subject: {commonName: 'n'}})), {
    usages: ['client auth'],
    maximumTtlMs: day,
    now,
  });

  t.is(verdict(parseCertificate(der)), 'n < root');
});
