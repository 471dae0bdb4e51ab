import {setMaxListeners} from 'node:events';
import test from 'ava';
import {aesGcm} from '#src/storage/encryption/aes.js';
import {PrefixedCiphers, type ValueCipher} from '#src/storage/encryption/cipher.js';
import {encryptedStore} from '#src/storage/encryption/encrypted-store.js';
import {ValueUnreadable} from '#src/storage/errors.js';
import {plainEncoding} from '#src/storage/etcd/encoding.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {Change, Store} from '#src/storage/store.js';
import {lifeSuite} from '#test/storage/suite-life.js';
import {modelSuite} from '#test/storage/suite-model.js';
import {watchSuite} from '#test/storage/suite-watches.js';
import {writeSuite} from '#test/storage/suite-writes.js';
import {storeSuite} from '#test/storage/suite.js';

const prefix = 'k8s:enc:';
const cipher = (name: string, fill: number): ValueCipher =>
  new PrefixedCiphers([{prefix: `${prefix}aesgcm:v1:${name}:`, cipher: aesGcm(Buffer.alloc(32, fill))}], 'no matching prefix found');

/** A cipher whose results come later, as those of a key management service. */
const slow = (inner: ValueCipher): ValueCipher => ({
  encrypt: async (value, key) => inner.encrypt(value, key),
  decrypt: async (value, key) => inner.decrypt(value, key),
});

const signal = new AbortController().signal;
setMaxListeners(0, signal);

const encrypted = (store: Store, of: ValueCipher | undefined): Store =>
  encryptedStore(store, {prefix, cipherOf: () => of, encoding: plainEncoding}, signal);

// Limits count the bytes below, which are more. Ranges with a filter or a bound of bytes are tested below.
storeSuite(
  test,
  {
    name: 'encrypted',
    valueLengths: {taken: (3 << 20) - 100, refused: (3 << 20) + 1},
    open: async clock => encrypted(memoryStore({clock}), cipher('one', 1)),
  },
  [writeSuite, watchSuite, lifeSuite, modelSuite],
);

const key = '/registry/secrets/default/one';

test('the store below holds no byte of the value, and says how it is encrypted', async t => {
  const below = memoryStore();
  const store = encrypted(below, cipher('one', 1));
  await store.create(key, Buffer.from('a value that nobody may read'));

  const bytes = (await below.get(key))!.value;
  t.true(bytes.toString('latin1').startsWith('k8s:enc:aesgcm:v1:one:'));
  t.false(bytes.includes('nobody'));
  t.is((await store.get(key))!.value.toString(), 'a value that nobody may read');
});

test('a value that cannot be decrypted fails its read, lists and watches, and nothing of it is returned', async t => {
  const below = memoryStore();
  await encrypted(below, cipher('one', 1)).create(key, Buffer.from('value'));
  for (const other of [encrypted(below, cipher('two', 2)), encrypted(below, undefined), encrypted(below, slow(cipher('two', 2)))]) {
    const expected = {instanceOf: ValueUnreadable, message: `unable to transform key "${key}": no matching prefix found`};
    await t.throwsAsync(async () => other.get(key), expected);
    await t.throwsAsync(async () => other.range({start: '/registry/', end: '/registry0'}), expected);
    const ended = new Promise<Error | undefined>(resolve => {
      other.watch({start: '/registry/', end: '/registry0', after: 1}, {changes: () => t.fail(), ended: resolve});
    });
    t.true((await ended) instanceof ValueUnreadable);
  }
});

test('what was stored before the encryption is read as stale, and encrypted by the next write', async t => {
  const below = memoryStore();
  const revision = await below.create(key, Buffer.from('value'));
  const first = cipher('one', 1);
  const plain: ValueCipher = {encrypt: value => value, decrypt: value => ({value, isStale: true})};
  const store = encrypted(below, {encrypt: first.encrypt.bind(first), decrypt: plain.decrypt});

  const read = (await store.get(key))!;
  t.like(read, {isStale: true, revision});
  await store.update(key, read.value, revision);
  t.true((await below.get(key))!.value.toString('latin1').startsWith('k8s:enc:'));
});

test('watchers get the changes in order, also while a service decrypts', async t => {
  const below = memoryStore();
  const store = encrypted(below, slow(cipher('one', 1)));
  const seen: string[] = [];
  const done = new Promise<void>(resolve => {
    store.watch(
      {start: '/registry/', end: '/registry0', after: 1},
      {
        changes: (batch: readonly Change[]) => {
          for (const {record, previous} of batch) seen.push(`${previous?.value.toString() ?? ''}>${record?.value.toString() ?? ''}`);
          if (seen.length === 4) resolve();
        },
        ended: () => t.fail(),
      },
    );
  });
  const one = await store.create(key, Buffer.from('1'));
  const two = await store.update(key, Buffer.from('2'), one);
  const three = await store.update(key, Buffer.from('3'), two);
  await store.delete(key, three);
  await done;

  t.deepEqual(seen, ['>1', '1>2', '2>3', '3>']);
});

test('a filter sees decrypted values, and a range with one says where it ended', async t => {
  const store = encrypted(memoryStore(), cipher('one', 1));
  for (const name of ['a', 'b', 'c', 'd']) await store.create(`/registry/secrets/${name}`, Buffer.from(name));
  const passes = ({value}: {value: Buffer}): boolean => ['b', 'd'].includes(value.toString());
  const found: string[] = [];
  let start = '/registry/secrets/';
  for (let rounds = 0; rounds < 10; rounds++) {
    const range = await store.range({start, end: '/registry/secrets0', limit: 1, filter: {known: () => undefined, passes}});
    found.push(...range.records.map(({value}) => value.toString()));
    if (!range.more) break;
    start = `${range.reached}\0`;
  }

  t.deepEqual(found, ['b', 'd']);
});
