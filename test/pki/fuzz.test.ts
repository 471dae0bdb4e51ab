import test, {type ExecutionContext} from 'ava';
import {seededRandom} from '#src/base/random.js';
import {authorityPem, createAuthority} from '#src/pki/authority.js';
import {berToDer} from '#src/pki/encoding/ber.js';
import {parseCertificate, parseCertificatesBer, type Certificate} from '#src/pki/certificate.js';
import {checkIssuedCertificate} from '#src/resources/certificates/issued-certificate.js';
import {trustAnchors, verifyChain} from '#src/pki/chain.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {issueServingCertificate} from '#src/pki/issuing.js';
import {parseKeyPair} from '#src/pki/key-pair.js';
import {generatePrivateKey, parsePrivateKey} from '#src/pki/keys/keys.js';
import {checkRequestSignature, createSigningRequest, parseSigningRequest, parseSigningRequestDer} from '#src/pki/signing-request.js';
import {below, fuzzRounds, fuzzSeed, mutated} from './mutation.js';

const now = Date.parse('2026-01-01T00:00:00Z');
const authority = createAuthority(await generatePrivateKey(), {commonName: 'authority', now});
const leaf = (await issueServingCertificate(authority, {commonName: 's', hosts: ['a.b', '10.0.0.1'], now})).chain[0];
const request = createSigningRequest(authority.key, {
  subject: {commonName: 'cn', organizations: ['o']},
  dnsNames: ['a'],
  uris: ['http://a/b'],
});
const anchors = trustAnchors([authority.certificate]);

const rounds = fuzzRounds(1500);

/** Reads mutations; whatever is thrown must be our own error. Returns how many were accepted. */
const survives = (t: ExecutionContext, original: Buffer, read: (bytes: Buffer) => unknown): number => {
  const random = seededRandom(fuzzSeed);
  let accepted = 0;
  for (let round = 0; round < rounds; round++) {
    const bytes = mutated(random, original);
    try {
      read(bytes);
      accepted++;
    } catch (error) {
      if (error instanceof PkiError) continue;
      t.fail(`${String(error)} for ${bytes.toString('hex')}`);
      return accepted;
    }
  }
  t.true(accepted < rounds);
  return accepted;
};

const readVerified = (certificate: Certificate): void => {
  const found = verifyChain(certificate, {anchors, usage: 'server auth', now});
  if (!found.verified) throw new PkiError(found.message);
};

test('withstands mutated requests, and believes none of them', t => {
  const {raw} = parseSigningRequest(request);
  survives(t, raw, parseSigningRequestDer);

  t.is(
    survives(t, raw, bytes => {
      const parsed = parseSigningRequestDer(bytes);
      checkRequestSignature(parsed);
      if (parsed.raw.equals(raw)) throw new PkiError('unchanged after all');
    }),
    0,
  );
});

test('withstands mutated certificates, and believes none of them', t => {
  survives(t, leaf.raw, parseCertificatesBer);

  const believed = new Set<string>();
  survives(t, leaf.raw, bytes => {
    const parsed = parseCertificate(bytes);
    readVerified(parsed);
    believed.add(parsed.signed.bytes.toString('hex'));
  });
  t.true(believed.size <= 1); // The signed content is unchanged: the mutations undid each other or hit an equivalent signature.
});

test('withstands mutated BER, PEM and keys', t => {
  const {certificate, key} = authorityPem(authority);

  survives(t, leaf.raw, berToDer);
  survives(t, Buffer.from(request), parseSigningRequest);
  survives(t, Buffer.from(certificate), checkIssuedCertificate);
  survives(t, Buffer.from(key), parsePrivateKey);
  survives(t, Buffer.from(key), bytes => parseKeyPair(certificate, bytes));
});

test('withstands noise', t => {
  const random = seededRandom(fuzzSeed + 4);
  for (let round = 0; round < rounds; round++) {
    const noise = Buffer.from(random.bytes(below(random, 300)));
    for (const read of [parseSigningRequestDer, parseCertificatesBer, berToDer, checkIssuedCertificate, parsePrivateKey]) {
      try {
        read(noise);
      } catch (error) {
        t.true(error instanceof PkiError, String(error));
      }
    }
  }
  t.pass();
});
