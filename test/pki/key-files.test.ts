import {createPrivateKey, generateKeyPairSync} from 'node:crypto';
import test from 'ava';
import {authorityPem, loadAuthority} from '#src/pki/authority.js';
import {certificatePem, isAuthority, parseCertificateBundle} from '#src/pki/certificate.js';
import {PkiError} from '#src/pki/encoding/error.js';
import {knownTexts} from '#src/pki/encoding/known-texts.js';
import {checkKeyPair} from '#src/pki/key-pair.js';
import {parseSigningKey, parseVerifyingKeys} from '#src/pki/keys/token-keys.js';
import {generatePrivateKey, parsePrivateKey, privateKeyPem, sameKey} from '#src/pki/keys/keys.js';
import {toPem} from '#src/pki/encoding/pem.js';
import {authority, key, rsaKey} from './issuing-parts.js';

test('loads an authority from files it has written', t => {
  const {certificate, key: keyPem} = authorityPem(authority);
  const loaded = loadAuthority('ca', certificate, keyPem);

  t.deepEqual(loaded.certificate.raw, authority.certificate.raw);
  t.true(isAuthority(loaded.certificate));
  t.is(loaded.certificate.notAfter - loaded.certificate.notBefore, 3650 * 86_400_000 + 300_000);
});

test('refuses files that make no authority', t => {
  const {certificate, key: keyPem} = authorityPem(authority);
  const refuses = (certificateFile: string, keyFile: string, message: string | RegExp) =>
    t.throws(() => loadAuthority('ca', certificateFile, keyFile), {instanceOf: PkiError, message});

  refuses('', keyPem, 'missing content for serving cert "ca"');
  refuses(certificate, '', 'missing content for serving cert "ca"');
  refuses(certificate + certificate, keyPem, 'error reading CA cert file "ca": expected 1 certificate, found 2');
  refuses(certificate, privateKeyPem(key), 'tls: private key does not match public key');
  refuses(certificate, privateKeyPem(rsaKey), 'tls: private key does not match public key');
  refuses(
    keyPem,
    keyPem,
    /failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: \[EC PRIVATE KEY\]/,
  );
  refuses(certificate, certificate, /failed to find PEM block with type ending in "PRIVATE KEY"/);
  refuses('junk', keyPem, 'tls: failed to find any PEM data in certificate input');
  refuses(certificate, 'junk', 'tls: failed to find any PEM data in key input');
});

test('reads private keys in every encoding, with other blocks around', t => {
  const pkcs8 = (own: typeof key) => own.export({format: 'pem', type: 'pkcs8'}) as string;

  for (const own of [key, rsaKey]) {
    for (const pem of [
      privateKeyPem(own),
      pkcs8(own),
      `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${privateKeyPem(own)}`,
      certificatePem(authority.certificate) + pkcs8(own),
    ]) {
      t.true(sameKey(parsePrivateKey(pem), own));
    }
  }
  t.throws(() => parsePrivateKey('junk'), {message: 'data does not contain a valid RSA, ECDSA or Ed25519 private key'});
  t.throws(() => parsePrivateKey(toPem('PRIVATE KEY', Buffer.from('junk'))), {instanceOf: PkiError});
  t.throws(() => parsePrivateKey(rsaKey.export({format: 'pem', type: 'pkcs8', cipher: 'aes-128-cbc', passphrase: 'x'})), {
    message: /is encrypted/,
  });
  t.throws(() => parsePrivateKey(generateKeyPairSync('x25519').privateKey.export({format: 'pem', type: 'pkcs8'})), {instanceOf: PkiError});
  t.true(sameKey(createPrivateKey(privateKeyPem(key)), key));
});

test('refuses to make a weak RSA key', async t => {
  await t.throwsAsync(generatePrivateKey({kind: 'rsa', bits: 1024}), {message: /too short/});
});

test('reads a bundle, skipping blocks that are no certificates', t => {
  const pem = certificatePem(authority.certificate);
  const headed = pem.replace('CERTIFICATE-----\n', 'CERTIFICATE-----\nA: b\n\n');

  t.is(parseCertificateBundle(`${privateKeyPem(key)}text\n${pem}${headed}${pem}`).length, 2);
  t.throws(() => parseCertificateBundle(headed), {message: 'data does not contain any valid RSA or ECDSA certificates'});
});

test('a file that was read is known by its text, and a pair by both of its texts', t => {
  const {certificate, key: keyPem} = authorityPem(authority);
  const [one] = parseCertificateBundle(certificate);

  t.is(parseCertificateBundle(Buffer.from(certificate))[0], one);
  t.not(parseCertificateBundle(certificate), parseCertificateBundle(certificate));
  t.is(parseVerifyingKeys(keyPem), parseVerifyingKeys(keyPem));
  t.is(checkKeyPair(certificate, keyPem), checkKeyPair(Buffer.from(certificate), keyPem));
  for (let time = 0; time < 2; time++) {
    t.throws(() => checkKeyPair(certificate, privateKeyPem(key)), {message: 'tls: private key does not match public key'});
    t.throws(() => parseVerifyingKeys('junk'), {instanceOf: PkiError});
  }
  t.is(parseSigningKey(keyPem), parseSigningKey(keyPem));
  t.not(parseSigningKey(privateKeyPem(key)).id, parseSigningKey(keyPem).id);
  const read = knownTexts((...texts: readonly string[]) => ({texts}));
  t.not(read('ab', 'c'), read('a', 'bc'));
  t.is(read('ab', 'c'), read('ab', 'c'));
  t.not(read('a'.repeat(20_000)), read('a'.repeat(20_000)));
});
