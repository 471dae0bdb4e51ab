import {KeyExists, RevisionMismatch, ValueTooLarge} from '#src/storage/errors.js';
import {bytes, type StoreTest} from './store-environment.js';

export const writeSuite = (test: StoreTest): void => {
  test('an empty store is at revision one and every write takes the next', async (t, {store}) => {
    t.is(await store.revision(), 1);

    t.is(await store.create('/a', bytes('1')), 2);
    t.is(await store.update('/a', bytes('2'), 2), 3);
    t.is(await store.delete('/a', 3), 4);
    t.is(await store.revision(), 4);
  });

  test('a resolved write is visible to the next read', async (t, {store}) => {
    const created = await store.create('/a', bytes('one'));
    const updated = await store.update('/a', bytes('two'), created);

    const record = await store.get('/a');

    t.deepEqual({...record, lease: undefined}, {key: '/a', value: bytes('two'), revision: updated, created, lease: undefined});
  });

  test('a key is created once', async (t, {store}) => {
    await store.create('/a', bytes('1'));

    await t.throwsAsync(store.create('/a', bytes('2')), {instanceOf: KeyExists});
    t.is(await store.revision(), 2);
  });

  test('a value has a limit, and one beyond it changes nothing', async (t, {store, valueLengths: {taken, refused}}) => {
    const most = Buffer.alloc(taken);
    const revision = await store.create('/a', most);

    await t.throwsAsync(store.create('/b', Buffer.alloc(refused)), {instanceOf: ValueTooLarge});
    await t.throwsAsync(store.update('/a', Buffer.alloc(refused), revision), {instanceOf: ValueTooLarge});
    t.is(await store.update('/a', most, revision), revision + 1);
    t.is(await store.get('/b'), undefined);
  });

  test('an update or a deletion with another expectation changes nothing', async (t, {store}) => {
    const revision = await store.create('/a', bytes('1'));
    await store.update('/a', bytes('2'), revision);

    await t.throwsAsync(store.update('/a', bytes('3'), revision), {instanceOf: RevisionMismatch});
    await t.throwsAsync(store.delete('/a', revision), {instanceOf: RevisionMismatch});
    await t.throwsAsync(store.update('/b', bytes('3'), revision), {instanceOf: RevisionMismatch});
    await t.throwsAsync(store.delete('/b', revision), {instanceOf: RevisionMismatch});
    t.is((await store.get('/a'))?.value.toString(), '2');
    t.is(await store.revision(), 3);
  });

  test('a deleted key can be created again and counts as new', async (t, {store}) => {
    await store.delete('/a', await store.create('/a', bytes('1')));

    const revision = await store.create('/a', bytes('2'));

    t.is((await store.get('/a'))?.created, revision);
  });

  test('of many writers with one expectation one wins, while none is durable yet', async (t, {store}) => {
    const expected = await store.create('/a', bytes('0'));

    const outcomes = await Promise.allSettled(Array.from({length: 20}, (_, i) => store.update('/a', bytes(String(i)), expected)));

    t.is(outcomes.filter(({status}) => status === 'fulfilled').length, 1);
    t.is((await store.get('/a'))?.value.toString(), String(outcomes.findIndex(({status}) => status === 'fulfilled')));
  });

  test('writers that read and try again at once all get through, each on top of the one before', async (t, {store}) => {
    await store.create('/a', bytes('0'));
    const addOne = async (): Promise<void> => {
      for (;;) {
        const record = (await store.get('/a'))!;
        try {
          return void (await store.update('/a', bytes(String(Number(record.value.toString()) + 1)), record.revision));
        } catch (error) {
          if (!(error instanceof RevisionMismatch)) throw error;
        }
      }
    };
    await Promise.all(Array.from({length: 10}, addOne));

    t.is((await store.get('/a'))?.value.toString(), '10');
  });

  test('of many creators of one key one wins, while none is durable yet', async (t, {store}) => {
    const outcomes = await Promise.allSettled(Array.from({length: 20}, (_, i) => store.create('/a', bytes(String(i)))));

    t.is(outcomes.filter(({status}) => status === 'fulfilled').length, 1);
  });

  test.alone('of many writers with one expectation the first one wins', async (t, {store}) => {
    const expected = await store.create('/a', bytes('0'));

    const outcomes = await Promise.allSettled(Array.from({length: 20}, (_, i) => store.update('/a', bytes(String(i)), expected)));

    t.is(outcomes[0]!.status, 'fulfilled');
  });

  test.alone('a chain of writes that are all pending is checked link by link', async (t, {store}) => {
    const chain = [
      store.create('/a', bytes('1')),
      store.update('/a', bytes('2'), 2),
      store.delete('/a', 3),
      store.create('/a', bytes('4')),
    ];

    t.deepEqual(await Promise.all(chain), [2, 3, 4, 5]);
    t.is((await store.get('/a'))?.created, 5);
  });

  test.alone('a pending write is seen by compares and not by reads', async (t, {store}) => {
    const pending = store.create('/a', bytes('1'));

    t.is(await store.get('/a'), undefined);
    await t.throwsAsync(store.create('/a', bytes('2')), {instanceOf: KeyExists});
    await pending;
  });

  test('values that are empty or as long as the store takes come back as they were', async (t, {store, valueLengths: {taken}}) => {
    const large = Buffer.alloc(taken, 'plat');
    const first = await store.create('/large', large);
    await store.create('/none', Buffer.alloc(0));
    await store.update('/large', bytes('small'), first);

    t.is((await store.get('/none'))?.value.length, 0);
    t.is((await store.get('/large'))?.value.toString(), 'small');
    const before = await store.range({start: '/', end: '0', revision: first});
    t.true(before.records[0]?.value.equals(large));
  });

  test('a key that is empty, too long or holds NUL is refused', async (t, {store}) => {
    for (const key of ['', '/a\0b', `/${'x'.repeat(1900)}`]) await t.throwsAsync(store.create(key, bytes('1')), {instanceOf: TypeError});
    const longest = `/${'x'.repeat(1899)}`;

    await store.create(longest, bytes('1'));

    t.is((await store.get(longest))?.value.toString(), '1');
  });
};
