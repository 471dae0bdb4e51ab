import {createHmac, type KeyObject} from 'node:crypto';
import test from 'ava';
import {seededRandom, type Random} from '#src/base/random.js';
import {generatePrivateKey, publicKeyPem} from '#src/pki/keys/keys.js';
import {readToken, signToken, tokenKey} from '#src/pki/keys/token.js';
import {below, fuzzRounds, fuzzSeed, mutated} from './mutation.js';

const keys: readonly (readonly [name: string, key: KeyObject])[] = [
  ['RS256', await generatePrivateKey({kind: 'rsa'})],
  ['ES256', await generatePrivateKey()],
  ['ES384', await generatePrivateKey({kind: 'ecdsa', curve: 'P-384'})],
  ['ES512', await generatePrivateKey({kind: 'ecdsa', curve: 'P-521'})],
];
const claims = {iss: 'https://issuer', sub: 'me', aud: ['a'], exp: 10, nested: {a: [1, {b: null}]}};
const pick = <T>(random: Random, items: readonly T[]): T => items[below(random, items.length)]!;
const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64url');

const algorithms = [
  'none',
  'None',
  'NONE',
  '',
  'HS256',
  'HS512',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'RS',
  'RS1',
];
const headers = [
  '[]',
  'null',
  '"ES256"',
  '{}',
  '{"alg":["ES256"]}',
  '{"alg":"ES256","alg":"none"}',
  '{"alg":"none","alg":"ES256"}',
  '{"__proto__":{"alg":"none"}}',
  '{"alg":"none","crit":[]}',
  '{"alg":"HS256","jwk":{"kty":"oct","k":"AA"}}',
  '{"alg":"RS256","kid":"../../dev/null"}',
  '{"alg":"RS256","kid":{"a":1}}',
  '{"alg":"RS256","x5u":"https://evil.example"}',
  '{"alg":"ES256","b64":false}',
];
const payloads = [
  '{"exp":1e400}',
  '{"exp":-1e308,"nbf":99999999999999999999999}',
  '{"exp":"10"}',
  '{"aud":{}}',
  '{"aud":[[]]}',
  '{"iss":1}',
  '{"sub":"a","sub":"b"}',
  '[]',
  '"x"',
  '{',
  '\u0000',
  `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
  '['.repeat(100_000),
];

/** Returns a token that resembles the valid one: damaged, under another algorithm, or put together from other parts. */
const forged = (random: Random, valid: string, key: KeyObject): string => {
  const [head = '', body = '', signature = ''] = valid.split('.');
  const asSecret = (alg: string, input: string) =>
    createHmac(alg === 'HS512' ? 'sha512' : 'sha256', publicKeyPem(key))
      .update(input)
      .digest('base64url');
  const acts: readonly (() => string)[] = [
    () => mutated(random, Buffer.from(valid)).toString('latin1'),
    () => `${head}.${body}.${base64(mutated(random, Buffer.from(signature, 'base64url')))}`,
    () => `${head}.${base64(mutated(random, Buffer.from(body, 'base64url')))}.${signature}`,
    () => `${base64(mutated(random, Buffer.from(head, 'base64url')))}.${body}.${signature}`,
    () =>
      `${base64(JSON.stringify({alg: pick(random, algorithms)}))}.${body}.${pick(random, [signature, '', 'AA', base64(Buffer.alloc(64))])}`,
    () => {
      const alg = pick(random, ['HS256', 'HS512']);
      const input = `${base64(JSON.stringify({alg}))}.${body}`;
      return `${input}.${asSecret(alg, input)}`;
    },
    () => `${base64(pick(random, headers))}.${body}.${signature}`,
    () => `${head}.${base64(pick(random, payloads))}.${signature}`,
    () => valid.slice(0, below(random, valid.length)),
    () => `${valid}${pick(random, ['.', '.a', 'A', '=', '==', ' ', '\n', 'AAAA', '%00'])}`,
    () => `${head}.${body}.${base64(Buffer.alloc(below(random, 300), below(random, 256)))}`,
    () => [signature, body, head].slice(0, 1 + below(random, 3)).join('.'),
  ];
  return pick(random, acts)();
};

/** The parts of a token as bytes: texts with the same bytes are the same token. */
const bytesOf = (text: string): string => {
  const [head, body, signature = ''] = text.split('.');
  return [head, body, Buffer.from(signature, 'base64url').toString('hex')].join('.');
};

for (const [name, key] of keys) {
  test(`no forged token is one that ${name} signed, and none throws`, t => {
    const random = seededRandom(fuzzSeed);
    const valid = signToken(claims, tokenKey(key));
    const rounds = fuzzRounds(1500);
    const accepted: string[] = [];
    for (let round = 0; round < rounds; round++) {
      const text = forged(random, valid, key);
      const read = readToken(text);
      if (read && keys.some(([, other]) => read.isSignedBy(other)) && bytesOf(text) !== bytesOf(valid)) accepted.push(text);
    }

    t.deepEqual(accepted, []);
    t.true(readToken(valid)!.isSignedBy(key));
  });

  test(`a signature of ${name} with a digit that stands for no byte is malformed`, t => {
    const valid = signToken(claims, tokenKey(key));
    const [head, body] = valid.split('.');
    for (let length = 1; length < 400; length += 4) t.is(readToken(`${head}.${body}.${'A'.repeat(length)}`), undefined, String(length));
    for (const part of [`${valid}A`, `${valid}AA`, `${valid}AAA`]) {
      t.not(readToken(part)?.isSignedBy(key), true, part);
    }
  });
}
