import {createCipheriv, createHmac} from 'node:crypto';
import test from 'ava';
import {aesCbc, aesGcm, extendedNonceGcm} from '#src/storage/encryption/aes.js';
import {identityCipher, PrefixedCiphers, type ValueCipher} from '#src/storage/encryption/cipher.js';
import {envelopeV1} from '#src/storage/encryption/envelope-v1.js';
import {secretbox} from '#src/storage/encryption/secretbox.js';

const key = '/registry/secrets/default/one';
const value = Buffer.from('the value');
const secrets = {16: Buffer.alloc(16, 1), 24: Buffer.alloc(24, 2), 32: Buffer.alloc(32, 3)};

const ciphers: Record<string, ValueCipher> = {
  'AES-CBC of 16 bytes': aesCbc(secrets[16]),
  'AES-CBC of 24 bytes': aesCbc(secrets[24]),
  'AES-CBC of 32 bytes': aesCbc(secrets[32]),
  'AES-GCM of 16 bytes': aesGcm(secrets[16]),
  'AES-GCM of 24 bytes': aesGcm(secrets[24]),
  'AES-GCM of 32 bytes': aesGcm(secrets[32]),
  'AES-GCM with derived keys': extendedNonceGcm(secrets[32]),
  secretbox: secretbox(secrets[32]),
};

for (const [name, cipher] of Object.entries(ciphers)) {
  test(`${name} reads what it wrote, whatever the length, and never writes the same twice`, async t => {
    for (const length of [1, 15, 16, 17, 100_000]) {
      const plain = Buffer.alloc(length, 'x');
      const encrypted = await cipher.encrypt(plain, key);
      t.deepEqual(await cipher.decrypt(encrypted, key), {value: plain, isStale: false});
      t.notDeepEqual(await cipher.encrypt(plain, key), encrypted);
      t.false(encrypted.includes('xxxx'));
    }
  });

  test(`${name} refuses values that are cut off`, async t => {
    const encrypted = await cipher.encrypt(value, key);
    for (let length = 0; length < encrypted.length; length++)
      t.throws(() => cipher.decrypt(encrypted.subarray(0, length), key), undefined, `${length}`);
  });
}

for (const name of Object.keys(ciphers).filter(one => !one.startsWith('AES-CBC')))
  test(`${name} refuses values of which a bit has changed`, async t => {
    const cipher = ciphers[name]!;
    const encrypted = await cipher.encrypt(value, key);
    for (let at = 0; at < encrypted.length; at++) {
      const changed = Buffer.from(encrypted);
      changed[at]! ^= 1;
      t.throws(() => cipher.decrypt(changed, key));
    }
  });

for (const name of Object.keys(ciphers).filter(one => one.startsWith('AES-GCM')))
  test(`${name} binds a value to the key it is stored under`, async t => {
    const encrypted = await ciphers[name]!.encrypt(value, key);

    t.throws(() => ciphers[name]!.decrypt(encrypted, '/registry/secrets/default/two'), {message: 'cipher: message authentication failed'});
  });

test('the derived key is HKDF-Expand of the seed and the first 32 bytes', t => {
  const info = Buffer.alloc(32, 9);
  const derived = createHmac('sha256', secrets[32]).update(info).update(Buffer.of(1)).digest();
  const nonce = Buffer.alloc(12, 7);
  const gcm = createCipheriv('aes-256-gcm', derived, nonce).setAAD(Buffer.from(key));
  const data = Buffer.concat([info, nonce, gcm.update(value), gcm.final(), gcm.getAuthTag()]);

  t.deepEqual(extendedNonceGcm(secrets[32]).decrypt(data, key), {value, isStale: false});
  t.throws(() => extendedNonceGcm(secrets[16]), {message: 'invalid seed length 16 used for key generation'});
});

test('a box of another implementation of secretbox is read', t => {
  // The example of NaCl's tests (tests/secretbox.c): the first bytes of the box and the message.
  const firstKey = Buffer.from('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389', 'hex');
  const nonce = Buffer.from('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37', 'hex');
  const message = Buffer.from(
    'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705',
    'hex',
  );
  const box = Buffer.from(
    'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
    'hex',
  );

  t.deepEqual(secretbox(firstKey).decrypt(Buffer.concat([nonce, box]), key), {value: message, isStale: false});
});

const named = (name: string, secret: Buffer) => ({prefix: `${name}:`, cipher: aesGcm(secret)});

test('the first key writes, all keys read, and what others wrote is stale', async t => {
  const before = new PrefixedCiphers([named('one', secrets[16])], 'no key');
  const after = new PrefixedCiphers([named('two', secrets[32]), named('one', secrets[16])], 'no key');
  const old = await before.encrypt(value, key);
  const fresh = await after.encrypt(value, key);

  t.is(old.toString('latin1', 0, 4), 'one:');
  t.is(fresh.toString('latin1', 0, 4), 'two:');
  t.deepEqual(await after.decrypt(old, key), {value, isStale: true});
  t.deepEqual(await after.decrypt(fresh, key), {value, isStale: false});
  t.throws(() => before.decrypt(fresh, key), {message: 'no key'});
});

test('two providers with the same prefix are both tried', async t => {
  const one = {prefix: 'k8s:enc:aesgcm:v1:', cipher: new PrefixedCiphers([named('one', secrets[16])], 'no key')};
  const other = {prefix: 'k8s:enc:aesgcm:v1:', cipher: new PrefixedCiphers([named('one', secrets[32])], 'no key')};
  const both = new PrefixedCiphers([one, other], 'no provider');
  const old = Buffer.concat([Buffer.from(other.prefix), await other.cipher.encrypt(value, key)]);

  t.deepEqual(await both.decrypt(old, key), {value, isStale: true});
});

test('identity leaves values alone and leaves encrypted ones to the providers after it', async t => {
  const identity = {prefix: '', cipher: identityCipher('k8s:enc:')};
  const gcm = {prefix: 'k8s:enc:aesgcm:v1:', cipher: new PrefixedCiphers([named('one', secrets[16])], 'no key')};
  const away = new PrefixedCiphers([identity, gcm], 'no matching prefix found');
  const encrypted = Buffer.concat([Buffer.from(gcm.prefix), await gcm.cipher.encrypt(value, key)]);

  t.is(await away.encrypt(value, key), value);
  t.deepEqual(await away.decrypt(value, key), {value, isStale: false});
  t.deepEqual(await away.decrypt(encrypted, key), {value, isStale: true});
  t.throws(() => new PrefixedCiphers([identity], 'no matching prefix found').decrypt(encrypted, key), {
    message: 'no matching prefix found',
  });
});

test('transformations are observed with the prefix of the provider and the failure', async t => {
  const seen: unknown[] = [];
  const all = new PrefixedCiphers([named('one', secrets[16]), {prefix: '', cipher: identityCipher('k8s:enc:')}], 'no prefix', (...call) =>
    seen.push(call),
  );
  const encrypted = await all.encrypt(value, key);
  await all.decrypt(encrypted, key);
  await all.decrypt(value, key);

  t.deepEqual(seen, [
    ['to_storage', 'one:', undefined],
    ['from_storage', 'one:', undefined],
    ['from_storage', 'identity', undefined],
  ]);
});

/** A service that reverses keys, and counts its calls. */
const reversing = () => {
  const calls = {encrypt: 0, decrypt: 0};
  const reversed = (bytes: Buffer): Promise<Buffer> => Promise.resolve(Buffer.from(bytes.toReversed()));
  return {
    calls,
    encrypt: (bytes: Buffer) => (calls.encrypt++, reversed(bytes)),
    decrypt: (bytes: Buffer) => (calls.decrypt++, reversed(bytes)),
  };
};

test('an envelope of version 1 begins with the length of its encrypted key, and keys are remembered', async t => {
  const service = reversing();
  const envelope = envelopeV1({service, cacheSize: 10});
  const encrypted = await envelope.encrypt(value, key);

  t.is(encrypted.readUInt16BE(0), 32);
  t.deepEqual(await envelope.decrypt(encrypted, key), {value, isStale: false});
  t.deepEqual(service.calls, {encrypt: 1, decrypt: 0});

  const later = envelopeV1({service, cacheSize: 10});
  await later.decrypt(encrypted, key);
  await later.decrypt(encrypted, key);
  t.is(service.calls.decrypt, 1);

  const without = envelopeV1({service, cacheSize: -1});
  await without.decrypt(encrypted, key);
  await without.decrypt(encrypted, key);
  t.is(service.calls.decrypt, 3);
});

test('an envelope of version 1 with a value of AES-CBC is read, and stale', async t => {
  const dataKey = Buffer.alloc(32, 5);
  const data = await aesCbc(dataKey).encrypt(value, key);
  const encrypted = Buffer.concat([Buffer.of(0, 32), dataKey, data]);

  t.deepEqual(await envelopeV1({service: reversing(), cacheSize: 1}).decrypt(encrypted, key), {value, isStale: true});
});
