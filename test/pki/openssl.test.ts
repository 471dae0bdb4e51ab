import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {authorityPem, createAuthority, loadAuthority, signRequest} from '#src/pki/authority.js';
import {parseCertificate, parseCertificateBundle} from '#src/pki/certificate.js';
import {trustAnchors, verifyChain} from '#src/pki/chain.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {generatePrivateKey, parsePrivateKey, sameKey, type KeySpec} from '#src/pki/keys/keys.js';
import {toPem} from '#src/pki/encoding/pem.js';
import {checkRequestSignature, createSigningRequest, parseSigningRequest, parseSigningRequestDer} from '#src/pki/signing-request.js';

const missing = (() => {
  try {
    execFileSync('openssl', ['version'], {stdio: 'pipe'});
    return undefined;
  } catch {
    return 'openssl is not installed';
  }
})();

const check = missing ? test.serial.skip : test.serial;
if (missing) console.log(`skipped: ${missing}`);

const folder = mkdtempSync(join(tmpdir(), 'pki-'));
test.after.always(() => rmSync(folder, {recursive: true}));

const openssl = (...args: string[]): string => execFileSync('openssl', args, {cwd: folder, stdio: 'pipe', encoding: 'utf8'});
const put = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return name;
};
const take = (name: string): string => readFileSync(join(folder, name), 'utf8');

const now = Date.now();
const day = 86_400_000;
const keyOptions: Record<string, string[]> = {
  'rsa:2048': ['RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  'P-224': ['EC', '-pkeyopt', 'ec_paramgen_curve:P-224'],
  'P-256': ['EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'P-384': ['EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  'P-521': ['EC', '-pkeyopt', 'ec_paramgen_curve:P-521'],
  ed25519: ['ED25519'],
};
const safe = (name: string) => name.replace(/\W/g, '');
const makeKey = (kind: string): string => {
  const file = `${safe(kind)}.key`;
  openssl('genpkey', '-algorithm', ...keyOptions[kind]!, '-out', file);
  return file;
};

const extensions = [
  '-addext',
  'subjectAltName=DNS:a.b,IP:10.0.0.1,IP:fe80::1,email:a@b,URI:spiffe://x/y',
  '-addext',
  'keyUsage=digitalSignature',
];
const signatures: [kind: string, options: string[]][] = [
  ...Object.keys(keyOptions).map((kind): [string, string[]] => [kind, []]),
  ['rsa:2048', ['-sha384']],
  ['rsa:2048', ['-sha512', '-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:digest']],
];
for (const [kind, options] of signatures) {
  check(`reads and verifies what openssl requests with ${[kind, ...options].join(' ')}`, t => {
    const key = makeKey(kind);
    const pem = openssl('req', '-new', '-key', key, '-subj', '/O=system:nodes/O=b/CN=system:node:ü', '-utf8', ...extensions, ...options);
    const request = parseSigningRequest(pem);

    t.notThrows(() => checkRequestSignature(request));
    t.is(request.subject.commonName, 'system:node:ü');
    t.deepEqual(request.subject.organizations, ['system:nodes', 'b']);
    t.like(request, {dnsNames: ['a.b'], ipAddresses: ['10.0.0.1', 'fe80::1'], emailAddresses: ['a@b'], uris: ['spiffe://x/y']});
    t.is(request.requestedExtensions.length, 2);
    t.true(sameKey(parsePrivateKey(take(key)), request.publicKey!));

    const altered = Buffer.from(request.raw);
    altered[altered.length - 1]! ^= 1;
    t.throws(() => checkRequestSignature(parseSigningRequestDer(altered)), {instanceOf: PkiError});
  });
}

const specs: KeySpec[] = [
  {kind: 'rsa'},
  {kind: 'rsa', bits: 3072},
  {kind: 'ecdsa'},
  {kind: 'ecdsa', curve: 'P-384'},
  {kind: 'ecdsa', curve: 'P-521'},
  {kind: 'ed25519'},
];
for (const spec of specs) {
  check(`issues with ${JSON.stringify(spec)} what openssl verifies`, async t => {
    const key = await generatePrivateKey(spec);
    const authority = createAuthority(key, {commonName: 'authority', now: now - 60_000});
    const request = createSigningRequest(key, {
      subject: {commonName: 'me', organizations: ['o']},
      dnsNames: ['a.b'],
      ipAddresses: ['fe80::1'],
    });
    const usages = ['digital signature', 'key encipherment', 'client auth', 'server auth'];
    const issued = signRequest(authority, parseSigningRequest(request), {usages, maximumTtlMs: day, now});
    put('ca.crt', authorityPem(authority).certificate);
    put('leaf.crt', toPem('CERTIFICATE', issued));

    t.notThrows(() => openssl('req', '-verify', '-noout', '-in', put('a.csr', request)));
    for (const purpose of ['sslclient', 'sslserver'])
      t.is(openssl('verify', '-x509_strict', '-purpose', purpose, '-CAfile', 'ca.crt', 'leaf.crt'), 'leaf.crt: OK\n');
    const text = openssl('x509', '-in', 'leaf.crt', '-noout', '-text').replaceAll(/\n +/g, '\n');
    t.true(text.includes('X509v3 Key Usage: critical\nDigital Signature, Key Encipherment\n'));
    t.true(text.includes('X509v3 Extended Key Usage: \nTLS Web Server Authentication, TLS Web Client Authentication\n'));
    t.true(text.includes('X509v3 Basic Constraints: critical\nCA:FALSE\n'));
    t.true(text.includes('X509v3 Subject Alternative Name: \nDNS:a.b, IP Address:FE80:0:0:0:0:0:0:1\n'));
    t.true(text.includes('Subject: O = o, CN = me\n'));
    t.is(openssl('pkey', '-noout', '-in', put('own.key', authorityPem(authority).key)), '');
  });
}

check('refuses what openssl refuses: a client certificate for serving', async t => {
  const authority = createAuthority(await generatePrivateKey(), {commonName: 'authority', now: now - 60_000});
  const request = parseSigningRequest(createSigningRequest(authority.key, {subject: {commonName: 'me'}}));
  put('ca.crt', authorityPem(authority).certificate);
  put('leaf.crt', toPem('CERTIFICATE', signRequest(authority, request, {usages: ['client auth'], maximumTtlMs: day, now})));

  t.throws(() => openssl('verify', '-purpose', 'sslserver', '-CAfile', 'ca.crt', 'leaf.crt'));
});

for (const kind of ['rsa:2048', 'P-256', 'ed25519']) {
  check(`works with an authority that openssl made with ${kind}`, async t => {
    const key = makeKey(kind);
    openssl('req', '-x509', '-new', '-key', key, '-subj', '/C=DE/O=x/CN=theirs/emailAddress=a@b', '-days', '30', '-out', 'theirs.crt');
    const authority = loadAuthority('theirs', take('theirs.crt'), take(key));
    const request = parseSigningRequest(createSigningRequest(await generatePrivateKey(), {subject: {commonName: 'me'}}));
    const issued = signRequest(authority, request, {usages: ['client auth'], maximumTtlMs: day, now: now + 300_000});
    put('mine.crt', toPem('CERTIFICATE', issued));

    t.is(openssl('verify', '-purpose', 'sslclient', '-CAfile', 'theirs.crt', 'mine.crt'), 'mine.crt: OK\n');
    t.like(
      verifyChain(parseCertificate(issued), {
        anchors: trustAnchors(parseCertificateBundle(take('theirs.crt'))),
        usage: 'client auth',
        now: now + 300_000,
      }),
      {verified: true},
    );
    t.true(authority.certificate.subject.raw.equals(parseCertificate(issued).issuer.raw));
  });
}
