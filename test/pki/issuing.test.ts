import {createPublicKey, generateKeyPairSync, X509Certificate} from 'node:crypto';
import test from 'ava';
import {buildAlternativeNames, readAlternativeNames} from '#src/pki/alternative-names.js';
import type {Steps} from '#src/base/steps.js';
import {createAuthority, signRequest, signRequestInSteps} from '#src/pki/authority.js';
import {isAuthority, parseCertificate} from '#src/pki/certificate.js';
import {DerReader, tags} from '#src/pki/encoding/der.js';
import {bits, boolean, integer, nothing, octets, oid, sequence, sequenceOf, tagged, wrapped} from '#src/pki/encoding/der-builder.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {
  generatePrivateKey,
  parsePrivateKey,
  privateKeyPem,
  publicKeyDer,
  readPublicKey,
  sameKey,
  type KeySpec,
} from '#src/pki/keys/keys.js';
import {buildName, readName} from '#src/pki/names.js';
import {toPem} from '#src/pki/encoding/pem.js';
import {
  checkRequestSignature,
  createSigningRequest,
  parseSigningRequest,
  parseSigningRequestDer,
  parseSigningRequestInSteps,
} from '#src/pki/signing-request.js';
import {craftedRequest, craftedRequestDer, rsaWith} from '#test/pki/requests.js';
import {authority, issue, key, now, rsaKey, san, year} from './issuing-parts.js';

const extension = (type: string, value: Buffer, critical = false) =>
  sequence(oid(type), ...(critical ? [boolean(true)] : []), octets(value));

const specs: KeySpec[] = [
  {kind: 'ecdsa', curve: 'P-224'},
  {kind: 'ecdsa'},
  {kind: 'ecdsa', curve: 'P-384'},
  {kind: 'ecdsa', curve: 'P-521'},
  {kind: 'rsa'},
  {kind: 'rsa', bits: 3072},
  {kind: 'ed25519'},
];

for (const spec of specs) {
  test(`requests and issues with a key of ${JSON.stringify(spec)} on both sides`, async t => {
    const own = await generatePrivateKey(spec);
    const by = createAuthority(own, {commonName: 'own', now});
    const request = parseSigningRequest(createSigningRequest(own, {subject: {commonName: 'me'}}));

    t.notThrows(() => checkRequestSignature(request));
    const issued = signRequest(by, request, {usages: ['client auth'], maximumTtlMs: year, now});
    t.true(new X509Certificate(issued).verify(createPublicKey(own)));
    t.true(sameKey(parsePrivateKey(privateKeyPem(own)), own));
  });
}

test('keeps everything of a request that counts', t => {
  const names = {dnsNames: ['a.b', '*.c.d'], emailAddresses: ['a@b'], ipAddresses: ['10.0.0.1', 'fe80::1'], uris: ['spiffe://x/y']};
  const request = parseSigningRequest(createSigningRequest(key, {subject: {commonName: 'cn', organizations: ['o1', 'o2']}, ...names}));

  t.is(request.subject.commonName, 'cn');
  t.deepEqual(request.subject.organizations, ['o1', 'o2']);
  t.like(request, names);
  t.deepEqual(request.publicKeyInfo, publicKeyDer(key));
  t.like(issue(request.raw.length > 0 ? toPem('CERTIFICATE REQUEST', request.raw) : ''), names);
});

test('reads the first block only, and only under its own label', t => {
  const pem = createSigningRequest(key, {subject: {commonName: 'a'}});
  const refusal = {instanceOf: PkiError, message: 'PEM block type must be CERTIFICATE REQUEST'};

  t.notThrows(() => parseSigningRequest(`text\n${pem}-----BEGIN X-----\n-----END X-----\n`));
  t.throws(() => parseSigningRequest(''), refusal);
  t.throws(() => parseSigningRequest(pem.replaceAll('CERTIFICATE', 'NEW CERTIFICATE')), refusal);
  t.throws(() => parseSigningRequest(`-----BEGIN X-----\n-----END X-----\n${pem}`), refusal);
  t.throws(() => parseSigningRequest(toPem('CERTIFICATE REQUEST', Buffer.concat([parseSigningRequest(pem).raw, Buffer.of(0)]))), {
    message: 'asn1: syntax error: trailing data',
  });
  t.throws(() => parseSigningRequest(toPem('CERTIFICATE REQUEST', Buffer.alloc(0))), {message: /^asn1: /});
});

test('refuses a request that another key signed, and one that was altered', t => {
  const stranger = generateKeyPairSync('ec', {namedCurve: 'P-256'}).publicKey;
  const altered = craftedRequestDer(key);
  altered[altered.indexOf('crafted')]! ^= 1;

  for (const der of [craftedRequestDer(key, {publicKeyInfo: publicKeyDer(stranger)}), altered]) {
    t.throws(() => checkRequestSignature(parseSigningRequestDer(der)), {message: 'x509: ECDSA verification failure'});
    t.throws(() => issue(toPem('CERTIFICATE REQUEST', der)), {
      message: 'unable to verify certificate request signature: x509: ECDSA verification failure',
    });
  }
});

test('reports the fault of a signature', t => {
  const check = (pem: string) => () => checkRequestSignature(parseSigningRequest(pem));

  t.throws(check(craftedRequest(rsaKey, {algorithm: rsaWith(11), hash: 'sha512'})), {message: 'crypto/rsa: verification error'});
  t.throws(check(craftedRequest(rsaKey, {algorithm: rsaWith(4), hash: 'md5'})), {
    message: 'x509: cannot verify signature: insecure algorithm MD5-RSA',
  });
  t.throws(check(craftedRequest(key, {algorithm: sequence(oid('1.2.3.4'))})), {
    message: 'x509: cannot verify signature: algorithm unimplemented',
  });
  t.throws(check(craftedRequest(rsaKey)), {
    message: 'x509: signature algorithm specifies an ECDSA public key, but have public key of type RSA',
  });
  t.throws(check(craftedRequest(key, {signature: Buffer.alloc(0)})), {message: 'x509: ECDSA verification failure'});
  t.notThrows(check(craftedRequest(rsaKey, {algorithm: rsaWith(5), hash: 'sha1'})));
});

test('refuses short RSA keys', t => {
  const short = generateKeyPairSync('rsa', {modulusLength: 512}).privateKey;

  t.throws(() => checkRequestSignature(parseSigningRequest(craftedRequest(short, {algorithm: rsaWith(11)}))), {
    message: /512-bit keys are insecure/,
  });
});

/** An RSA key as PKCS #1 has it, with parameters that must be null. */
const rsaInfo = (modulus: bigint, exponent: bigint, parameters = nothing()): Buffer =>
  sequence(sequence(oid('1.2.840.113549.1.1.1'), parameters), bits(sequence(integer(modulus), integer(exponent))));

const modulus = BigInt(
  `0x${Buffer.from(generateKeyPairSync('rsa', {modulusLength: 1024}).publicKey.export({format: 'jwk'}).n!, 'base64url').toString('hex')}`,
);
for (const [what, info, message] of [
  ['exponent 1', rsaInfo(modulus, 1n), 'crypto/rsa: public exponent too small or negative'],
  ['an even exponent', rsaInfo(modulus, 4n), 'crypto/rsa: public exponent is even'],
  ['a large exponent', rsaInfo(modulus, 2n ** 31n + 1n), 'crypto/rsa: public exponent too large'],
  ['an even modulus', rsaInfo(modulus + 1n, 65_537n), 'crypto/rsa: public modulus is even'],
  ['exponent 0', rsaInfo(modulus, 0n), 'x509: RSA public exponent is not a positive number'],
  ['an exponent of 8 bytes', rsaInfo(modulus, 2n ** 63n), 'x509: invalid RSA public exponent'],
  ['modulus 0', rsaInfo(0n, 3n), 'x509: RSA modulus is not a positive number'],
  ['other parameters', rsaInfo(modulus, 3n, oid('1.2.3')), 'x509: RSA key missing NULL parameters'],
] as const) {
  test(`refuses an RSA key with ${what}, whose signatures anybody can make`, t => {
    const request = craftedRequest(key, {publicKeyInfo: info, algorithm: rsaWith(11), signature: Buffer.alloc(128, 1)});

    t.throws(() => checkRequestSignature(parseSigningRequest(request)), {instanceOf: PkiError, message});
  });
}

test('refuses keys on curves that are not supported, and points off their curve', t => {
  const foreign = generateKeyPairSync('ec', {namedCurve: 'secp256k1'}).privateKey;
  const off = publicKeyDer(key);
  off[off.length - 1]! ^= 1;

  t.throws(() => parseSigningRequest(craftedRequest(foreign)), {message: 'x509: unsupported elliptic curve'});
  t.throws(() => parseSigningRequest(craftedRequest(key, {publicKeyInfo: off})), {
    message: 'x509: failed to unmarshal elliptic curve point',
  });
});

/** The same key with its point as one coordinate and the sign of the other. */
const compressedForm = (info: Buffer, size: number): Buffer => {
  const point = info.length - 2 * size;
  const outer = new DerReader(info).enter();
  const algorithm = outer.next();
  const compressed = Buffer.concat([Buffer.from([2 + (info.at(-1)! & 1)]), info.subarray(point, point + size)]);
  const bitString = Buffer.concat([Buffer.from([tags.bitString, compressed.length + 1, 0]), compressed]);
  const content = Buffer.concat([algorithm.raw, bitString]);
  return Buffer.concat([Buffer.from([0x30, content.length]), content]);
};

for (const namedCurve of ['P-224', 'P-256', 'P-384', 'P-521']) {
  test(`reads a public key on ${namedCurve} by both coordinates, and refuses other forms and points that are none`, t => {
    const {publicKey} = generateKeyPairSync('ec', {namedCurve});
    const info = publicKeyDer(publicKey);
    const size = namedCurve === 'P-521' ? 66 : Number(namedCurve.slice(2)) / 8;
    const spoilt = (spoil: (der: Buffer) => void): Buffer => {
      const der = Buffer.from(info);
      spoil(der);
      return der;
    };

    t.true(readPublicKey(info)?.equals(publicKey));
    for (const bad of [
      compressedForm(info, size),
      // The hybrid form: both coordinates, and the sign of the second one.
      spoilt(der => (der[der.length - 2 * size - 1] = 6 + (der.at(-1)! & 1))),
      spoilt(der => (der[der.length - 1]! ^= 1)),
      spoilt(der => der.fill(0, der.length - 2 * size)),
      spoilt(der => der.fill(0xff, der.length - 2 * size)),
      spoilt(der => (der[der.length - 2 * size - 1] = 5)),
    ]) {
      t.throws(() => readPublicKey(bad), {message: 'x509: failed to unmarshal elliptic curve point'});
    }
  });
}

for (const [what, names, message] of [
  ['an IP address of 5 bytes', sequence(tagged(tags.context(7), Buffer.alloc(5))), /cannot parse IP address of length 5/],
  ['a DNS name beyond ASCII', sequence(tagged(tags.context(2), 'ü')), /SAN dNSName is malformed/],
  ['an email address beyond ASCII', sequence(tagged(tags.context(1), 'ü')), /SAN rfc822Name is malformed/],
  ['a URI that is none', sequence(tagged(tags.context(6), 'a b')), /cannot parse URI/],
  ['a URI with a bad host', sequence(tagged(tags.context(6), 'http://a..b/')), /invalid domain/],
] as const) {
  test(`refuses a request with ${what}`, t => {
    t.throws(() => parseSigningRequest(craftedRequest(key, {extensions: [extension(san, names)]})), {instanceOf: PkiError, message});
  });
}

test('refuses an extension that is requested twice', t => {
  const twice = extension(san, sequence(tagged(tags.context(2), 'a')));

  t.throws(() => parseSigningRequest(craftedRequest(key, {extensions: [twice, twice]})), {
    message: 'x509: certificate request contains duplicate requested extensions',
  });
});

test('copes with the largest request that a body can carry', t => {
  const organizations = Array.from({length: 130_000}, (_, index) => String(index % 10));
  const names = sequenceOf(Array.from({length: 140_000}, () => tagged(tags.context(2), 'a')));
  const issued = issue(craftedRequest(key, {subject: buildName({organizations}), extensions: [extension(san, names)]}));

  t.is(issued.dnsNames.length, 140_000);
  t.is(issued.subject.organizations.length, 130_000);
});

test('writes a subject of many organizations', t => {
  const organizations = Array.from({length: 20_000}, (_, index) => `o${index}`);

  t.deepEqual(readName(new DerReader(buildName({organizations})).next()).organizations, organizations);
});

test('parses a request of many names and issues its certificate in steps of a thousand names', t => {
  const organizations = Array.from({length: 20_000}, (_, index) => `o${(index * 7919) % 20_000}`);
  const pem = createSigningRequest(key, {subject: {organizations}, dnsNames: organizations});
  const [request, parsing] = counted(parseSigningRequestInSteps(pem));
  const [issued, signing] = counted(signRequestInSteps(authority, request, {usages: ['client auth'], maximumTtlMs: year, now}));

  t.true(parsing >= 60, `${parsing}`);
  t.true(signing >= 120, `${signing}`);
  t.deepEqual(
    parseCertificate(issued).subject.organizations,
    organizations.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1)),
  );
});

/** Runs all steps and returns the result and the number of steps. */
const counted = <T>(work: Steps<T>): [result: T, steps: number] => {
  for (let steps = 1; ; steps++) {
    const {done, value} = work.next();
    if (done) return [value, steps];
  }
};

test('writes names of every length', t => {
  const names = {
    dnsNames: [1, 127, 128, 255, 256, 65_535, 65_536].map(length => 'a'.repeat(length)),
    emailAddresses: ['a@b'],
    ipAddresses: ['10.0.0.1', '::1'],
    uris: ['spiffe://a/b'],
  };

  t.deepEqual(readAlternativeNames(buildAlternativeNames(names)), names);
});

test('passes over an extension however deep its value is nested', t => {
  let deep: Buffer = Buffer.alloc(0);
  for (let depth = 0; depth < 5_000; depth++) deep = tagged(tags.sequence, deep);
  const issued = issue(craftedRequest(key, {extensions: [extension('1.2.3.4', deep)]}));

  t.false(issued.extensions.some(({oid: type}) => type === '1.2.3.4'));
});

test('drops requested extensions and foreign kinds of names', t => {
  const names = sequence(
    tagged(tags.context(8), Buffer.of(42)),
    tagged(tags.context(7), Buffer.of(1, 2, 3, 4)),
    tagged(tags.context(2), 'a.b'),
    wrapped(tags.contextConstructed(4), buildName({commonName: 'x'})),
  );
  const requestedCa = extension('2.5.29.19', sequence(boolean(true)), true);
  const issued = issue(craftedRequest(key, {extensions: [requestedCa, extension(san, names)]}));

  t.false(isAuthority(issued));
  t.deepEqual(
    issued.extensions.map(({oid: type, critical}) => [type, critical]),
    [
      ['2.5.29.37', false],
      ['2.5.29.19', true],
      ['2.5.29.35', false],
      [san, false],
    ],
  );
  t.deepEqual(
    issued.extensions.at(-1)?.value.toString('latin1'),
    sequence(tagged(tags.context(2), 'a.b'), tagged(tags.context(7), Buffer.of(1, 2, 3, 4))).toString('latin1'),
  );
  t.is(issued.extensions[1]?.value.toString('hex'), '3000');
});
