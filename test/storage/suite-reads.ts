import {Compacted, FutureRevision} from '#src/storage/errors.js';
import {endOfPrefix, type Range, type RangeQuery, type RecordFilter} from '#src/storage/store.js';
import {bytes, type StoreTest} from './store-environment.js';

const everything = {start: '/', end: endOfPrefix('/')};
const show = ({records}: Range): string[] => records.map(({key, value}) => `${key}=${value.toString()}`);

export const readSuite = (test: StoreTest): void => {
  test('a range holds its keys in bytewise order, from the start to before the end', async (t, {store}) => {
    for (const key of ['/b', '/a/\u{1F600}', '/a/\uE000', '/a/é', '/a/z', '/a', '/a/1', '/a0']) await store.create(key, bytes('x'));

    const range = await store.range({start: '/a', end: '/a0'});

    t.deepEqual(
      range.records.map(({key}) => key),
      ['/a', '/a/1', '/a/z', '/a/é', '/a/\uE000', '/a/\u{1F600}'],
    );
    t.is(range.revision, 9);
    t.false(range.more);
    t.is(await store.count('/a', '/a0'), 6);
    t.is(await store.count('/a0', '/a'), 0);
    t.deepEqual((await store.range({start: '/b', end: '/a'})).records, []);
  });

  test('a limited range reports whether there is more', async (t, {store}) => {
    for (const key of ['/a', '/b', '/c']) await store.create(key, bytes(key));

    t.deepEqual(show(await store.range({...everything, limit: 2})), ['/a=/a', '/b=/b']);
    t.true((await store.range({...everything, limit: 2})).more);
    t.false((await store.range({...everything, limit: 3})).more);
    t.deepEqual(show(await store.range({start: '/b\0', end: everything.end, limit: 2})), ['/c=/c']);
  });

  test('a range bounded in bytes ends with the record that reaches the bound, whatever is written between its pieces', async (t, {
    store,
  }) => {
    for (const key of ['/a', '/b', '/c', '/d', '/e']) await store.create(key, bytes('xxxx'));
    for (const writes of [false, true]) {
      const pieces: string[][] = [];
      let revision: number | undefined;
      for (let start = everything.start, more = true; more;) {
        const range = await store.range({start, end: everything.end, bytes: 5, ...(revision === undefined ? {} : {revision})});
        ({revision, more} = range);
        pieces.push(range.records.map(({key}) => key));
        start = `${range.records.at(-1)!.key}\0`;
        if (!writes) continue;
        const {records} = await store.range(everything);
        await store.delete('/e', records.at(-1)!.revision);
        await store.create('/e', bytes('other'));
      }

      t.deepEqual(pieces, [['/a', '/b'], ['/c', '/d'], ['/e']]);
    }
    t.is((await store.range({...everything, bytes: 16})).more, true);
    t.is((await store.range({...everything, bytes: 17})).more, false);
    t.is((await store.range({...everything, limit: 1, bytes: 20})).records.length, 1);
  });

  test('a range with a filter has the matching records, at the newest revision and at an earlier one', async (t, {store}) => {
    const revisions = new Map<string, number>();
    for (const key of ['/a', '/b', '/c', '/d', '/e']) revisions.set(key, await store.create(key, bytes('1')));
    const then = await store.revision();
    await store.update('/b', bytes('2'), revisions.get('/b')!);
    await store.delete('/c', revisions.get('/c')!);
    const looked: string[] = [];
    const filter: RecordFilter = {
      known: (key, revision) => (key === '/a' || (key === '/e' && revision === revisions.get('/e')) ? key === '/e' : undefined),
      passes: ({key, value}) => (looked.push(key), value.toString() === '1'),
    };
    const read = async (query: Partial<RangeQuery>) => {
      const range = await store.range({...everything, ...query, filter});
      return [show(range), range.more, range.reached, looked.splice(0)];
    };

    t.deepEqual(await read({}), [['/d=1', '/e=1'], false, '/e', ['/b', '/d']]);
    t.deepEqual(await read({limit: 1}), [['/d=1'], true, '/d', ['/b', '/d']]);
    t.deepEqual(await read({start: '/d\0'}), [['/e=1'], false, '/e', []]);
    t.deepEqual(await read({revision: then}), [['/b=1', '/c=1', '/d=1', '/e=1'], false, '/e', ['/b', '/c', '/d']]);
    t.deepEqual(await read({revision: then, limit: 2}), [['/b=1', '/c=1'], true, '/c', ['/b', '/c']]);
    t.deepEqual(await read({bytes: 1}), [[], true, '/b', ['/b']]);
  });

  test('a range at an earlier revision has the records of then', async (t, {store}) => {
    await store.create('/a', bytes('1'));
    const b = await store.create('/b', bytes('1'));
    const then = await store.create('/c', bytes('1'));
    await store.delete('/b', b);
    await store.update('/c', bytes('2'), then);
    await store.create('/b', bytes('2'));
    await store.create('/d', bytes('1'));

    t.deepEqual(show(await store.range({...everything, revision: then})), ['/a=1', '/b=1', '/c=1']);
    t.deepEqual(show(await store.range({...everything, revision: then + 1})), ['/a=1', '/c=1']);
    t.deepEqual(show(await store.range({...everything, revision: then + 3})), ['/a=1', '/b=2', '/c=2']);
    t.deepEqual(show(await store.range(everything)), ['/a=1', '/b=2', '/c=2', '/d=1']);
    t.deepEqual(show(await store.range({...everything, revision: 1})), []);
  });

  test('pages at one revision are not disturbed by writes between them', async (t, {store}) => {
    for (let i = 0; i < 30; i++) await store.create(`/k${String(i).padStart(2, '0')}`, bytes(String(i)));
    const pages: string[] = [];
    let start = '/';
    const {revision} = await store.range({...everything, limit: 1});

    for (let more = true; more;) {
      const page = await store.range({start, end: everything.end, limit: 7, revision});
      pages.push(...show(page));
      start = `${page.records.at(-1)!.key}\0`;
      more = page.more;
      const next = await store.get(`/k${String(pages.length).padStart(2, '0')}`);
      if (next) await store.delete(next.key, next.revision);
      await store.create(`/k0${pages.length}x`, bytes('new'));
    }

    t.deepEqual(
      pages,
      Array.from({length: 30}, (_, i) => `/k${String(i).padStart(2, '0')}=${i}`),
    );
  });

  test('a single key is read at an earlier revision', async (t, {store}) => {
    const first = await store.create('/a', bytes('1'));
    await store.create('/a/b', bytes('x'));
    await store.update('/a', bytes('2'), first);

    t.deepEqual(show(await store.range({start: '/a', end: '/a\0', revision: first + 1})), ['/a=1']);
    t.deepEqual(show(await store.range({start: '/a\0', end: '/b', revision: first + 1})), ['/a/b=x']);
  });

  test('a range at a revision not reached yet is refused with the newest', async (t, {store}) => {
    await store.create('/a', bytes('1'));

    const error = await t.throwsAsync(async () => store.range({...everything, revision: 9}), {instanceOf: FutureRevision});

    t.is(error?.current, 2);
  });

  test('compaction removes earlier history and leaves the rest exact', async (t, {store}) => {
    const one = await store.create('/a', bytes('1'));
    const two = await store.update('/a', bytes('2'), one);
    const three = await store.update('/a', bytes('3'), two);
    t.is(await store.compacted(), 0);

    await store.compact(two);
    await store.compact(one);

    t.is(await store.compacted(), two);
    const error = await t.throwsAsync(async () => store.range({...everything, revision: one}), {instanceOf: Compacted});
    t.is(error?.compacted, two);
    t.deepEqual(show(await store.range({...everything, revision: two})), ['/a=2']);
    t.deepEqual(show(await store.range({...everything, revision: three})), ['/a=3']);
    await t.throwsAsync(store.compact(three + 1), {instanceOf: FutureRevision});
  });

  test('the keys of an earlier revision are counted, whatever was written since', async (t, {store}) => {
    const counts: [revision: number, count: number][] = [];
    const note = async (count: number): Promise<void> => void counts.push([await store.revision(), count]);
    const one = await store.create('/a', bytes('1'));
    await note(1);
    for (let i = 0; i < 150; i++) await store.create(`/b${i}`, bytes('x'));
    await note(151);
    await store.update('/a', bytes('2'), one);
    await store.delete('/b7', one + 8);
    await store.create('/c', bytes('outside'));
    await note(150);
    const again = await store.create('/b7', bytes('again'));
    await note(151);
    await store.delete('/b7', again);

    for (const [revision, count] of counts) t.is(await store.count('/a', '/c', revision), count, `${revision}`);
    t.is(await store.count('/a', '/c'), 150);
    await t.throwsAsync(async () => store.count('/a', '/c', again + 9), {instanceOf: FutureRevision});
    await store.compact(again);
    await t.throwsAsync(async () => store.count('/a', '/c', one), {instanceOf: Compacted});
    t.is(await store.count('/a', '/c', again), 151);
  });

  test('compaction keeps the revision and the newest records', async (t, {store}) => {
    for (let i = 0; i < 50; i++) await store.create(`/${i}`, bytes('x'));
    const revision = await store.delete('/7', 9);

    await store.compact(revision);

    t.is(await store.revision(), revision);
    t.is(await store.count('/', '0'), 49);
    t.is(await store.create('/7', bytes('y')), revision + 1);
    t.is((await store.range({...everything, revision})).records.length, 49);
  });
};
