import {generateKeyPairSync, sign, type KeyObject} from 'node:crypto';
import test from 'ava';
import {PkiError} from '#src/pki/encoding/error.js';
import {generatePrivateKey, privateKeyPem, publicKeyPem} from '#src/pki/keys/keys.js';
import {jsonWebKey, readToken, signToken, tokenKey} from '#src/pki/keys/token.js';
import {parseSigningKey, parseVerifyingKeys} from '#src/pki/keys/token-keys.js';

const keys: readonly [name: string, key: KeyObject][] = [
  ['RS256', await generatePrivateKey({kind: 'rsa'})],
  ['ES256', await generatePrivateKey()],
  ['ES384', await generatePrivateKey({kind: 'ecdsa', curve: 'P-384'})],
  ['ES512', await generatePrivateKey({kind: 'ecdsa', curve: 'P-521'})],
];
const claims = {iss: 'https://issuer', sub: 'me', aud: ['a'], exp: 10};
const [, [, p256]] = keys as [unknown, [string, KeyObject]];

for (const [name, key] of keys) {
  test(`a token signed by ${name} is verified by that key alone, and its key set has the key`, t => {
    const own = tokenKey(key);
    const token = signToken(claims, own);
    const read = readToken(token)!;

    t.is(own.algorithm, name);
    t.is(read.keyId, own.id);
    t.deepEqual(read.claims, claims);
    for (const [other, candidate] of keys) t.is(read.isSignedBy(candidate), other === name);
    t.false(readToken(`${token.slice(0, -6)}AAAAAA`)!.isSignedBy(key));
    t.like(jsonWebKey(own), {use: 'sig', kid: own.id, alg: name, kty: name === 'RS256' ? 'RSA' : 'EC'});
    t.false('d' in jsonWebKey(own));
  });

  test(`the files of a ${name} key hold the same key, private or public`, t => {
    const {id} = tokenKey(key);

    t.deepEqual(
      [...parseVerifyingKeys(publicKeyPem(key)), ...parseVerifyingKeys(privateKeyPem(key)), parseSigningKey(privateKeyPem(key))].map(
        found => found.id,
      ),
      [id, id, id],
    );
  });
}

test('a file may hold several keys, and other things, but not none', t => {
  t.is(parseVerifyingKeys(keys.map(([, key]) => publicKeyPem(key)).join('and\n')).length, 4);
  t.throws(() => parseVerifyingKeys('nothing'), {
    instanceOf: PkiError,
    message: 'data does not contain any valid RSA or ECDSA public keys',
  });
  t.throws(() => parseVerifyingKeys(publicKeyPem(generateKeyPairSync('ed25519').publicKey)), {instanceOf: PkiError});
});

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const token = (header: unknown, payload: unknown): string => {
  const input = `${encoded(header)}.${encoded(payload)}`;
  return `${input}.${sign('sha256', Buffer.from(input), {key: p256, dsaEncoding: 'ieee-p1363'}).toString('base64url')}`;
};

test('a token without a signature is signed by no key', t => {
  const read = readToken(`${encoded({alg: 'none'})}.${encoded({iss: 'a'})}.`);

  t.like(read, {claims: {iss: 'a'}});
  for (const [, key] of keys) t.false(read!.isSignedBy(key));
});

test('an invalid token is not accepted', t => {
  const good = {alg: 'ES256'};
  for (const text of [
    '',
    'a.b',
    'a.b.c.d',
    'é.é.é',
    token([], {}),
    token({}, {}),
    token(good, []),
    token(good, {exp: 'soon'}),
    token(good, {aud: [1]}),
    token({...good, crit: ['x']}, {}),
  ]) {
    t.is(readToken(text), undefined, text);
  }
  t.true(readToken(token(good, {aud: 'one'}))!.isSignedBy(p256));
  t.deepEqual(readToken(token(good, {aud: 'one'}))!.claims.aud, ['one']);
});

test('the key determines the algorithm, whatever the token names', t => {
  for (const alg of ['none', 'HS256', 'ES384', 'RS256']) t.false(readToken(token({alg}, {}))!.isSignedBy(p256), alg);
});
