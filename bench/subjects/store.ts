import {closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {open} from 'lmdb';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {endOfPrefix, type Store} from '#src/storage/store.js';
import {row, type Row} from '#bench/run/row.js';

/** The value of a small object, and the number of distinct keys. */
const value = Buffer.alloc(1500, 'plat');
const keys = 1000;
const runMs = 1500;
const pods = '/registry/pods/';
const keyOf = (index: number): string => `${pods}default/pod-${index}`;

/** Returns how often `step` completes per second in `lanes` concurrent sequences. */
const rate = async (lanes: number, step: (lane: number) => Promise<unknown>): Promise<number> => {
  let done = 0;
  const start = performance.now();
  const end = start + runMs;
  const lane = async (index: number): Promise<void> => {
    while (performance.now() < end) {
      await step(index);
      done++;
    }
  };
  await Promise.all(Array.from({length: lanes}, (_, index) => lane(index)));
  return (done * 1000) / (performance.now() - start);
};

const rateSync = (step: (index: number) => unknown): number => {
  let done = 0;
  const start = performance.now();
  while (performance.now() - start < runMs / 3) for (let i = 0; i < 100; i++) step(done++);
  return (done * 1000) / (performance.now() - start);
};

/** Updates of records; each writer has its own keys. */
const updates = (store: Store, lanes: number): Promise<number> => {
  const turns = Array.from({length: lanes}, () => 0);
  return rate(lanes, async lane => {
    const key = keyOf((lane + lanes * turns[lane]!++) % keys);
    const known = await store.get(key);
    await (known ? store.update(key, value, known.revision) : store.create(key, value));
  });
};

const rawPuts = async (directory: string, lanes: number): Promise<number> => {
  const tree = open<Buffer, string>({path: join(directory, `raw-${lanes}`), overlappingSync: false, encoding: 'binary'});
  let next = 0;
  const figure = await rate(lanes, () => tree.put(keyOf(next++ % keys), value));
  await tree.close();
  return figure;
};

const syncs = (directory: string): number => {
  const file = openSync(join(directory, 'sync'), 'w');
  const page = Buffer.alloc(4096);
  let done = 0;
  const start = performance.now();
  for (; performance.now() - start < runMs / 3; done++) {
    writeSync(file, page, 0, page.length, (done % 256) * page.length);
    fdatasyncSync(file);
  }
  closeSync(file);
  return (done * 1000) / (performance.now() - start);
};

/** Updates per second with `watchers` of one prefix. */
const fanOut = async (store: Store, watchers: number): Promise<number> => {
  let delivered = 0;
  const query = {start: pods, end: endOfPrefix(pods), after: await store.revision()};
  const handles = Array.from({length: watchers}, () => store.watch(query, {changes: batch => (delivered += batch.length), ended() {}}));
  const figure = await updates(store, 16);
  for (const handle of handles) handle[Symbol.dispose]();
  if (delivered === 0) throw new Error('the watchers received nothing');
  return figure;
};

const rangeMs = async (store: Store, revision?: number): Promise<number> => {
  const start = performance.now();
  await store.range({start: pods, end: endOfPrefix(pods), ...(revision === undefined ? {} : {revision})});
  return performance.now() - start;
};

const readRows = async (store: Store, directory: string): Promise<Row[]> => {
  const tree = open<Buffer, string>({path: join(directory, 'raw-reads'), overlappingSync: false, encoding: 'binary'});
  const listed = (index: number): string => `${pods}listed/pod-${index % 10_000}`;
  for (let i = 0; i < 10_000; i += 500) await Promise.all(Array.from({length: 500}, (_, j) => store.create(listed(i + j), value)));
  for (let i = 0; i < 10_000; i++) void tree.put(listed(i), value);
  await tree.committed;
  const rows = [
    row(
      'get, each of 10,000 records in turn',
      rateSync(i => store.get(listed(i))),
      '/s',
      {baseline: rateSync(i => tree.getBinary(listed(i))), note: 'raw limit: LMDB gets'},
    ),
    row(
      'get, the same 100 records',
      rateSync(i => store.get(listed(i % 100))),
      '/s',
    ),
  ];
  await tree.close();
  const revision = await store.revision();
  rows.push(row('range over 11,000 records', await rangeMs(store), 'ms'));
  for (let i = 0; i < 200; i++)
    await Promise.all(Array.from({length: 500}, async (_, j) => store.update(keyOf(j), value, (await store.get(keyOf(j)))!.revision)));
  rows.push(row('the same, 100,000 changes ago', await rangeMs(store, revision), 'ms'));
  const newest = await store.revision();
  const start = performance.now();
  await store.compact(newest);
  rows.push(row('compaction of all history', (newest * 1000) / (performance.now() - start), 'changes/s'));
  return rows;
};

/** The store, compared with LMDB's own puts of the same values and with disk syncs. */
export const storeRows = async (): Promise<Row[]> => {
  const directory = mkdtempSync(join(process.env['BENCH_DIR'] ?? tmpdir(), 'plat-bench-'));
  try {
    const begin = performance.now();
    const store = await openEmbeddedStore({directory: join(directory, 'store'), naming: 'plat'});
    const rows = [row('open an empty embedded store', performance.now() - begin, 'ms', {note: 'the library already loaded'})];
    rows.push(row('fdatasync of a page', syncs(directory), '/s', {note: 'raw limit'}));
    const note = 'embedded, 1.5 kB values; raw limit: LMDB puts, no history';
    for (const lanes of [1, 16, 128])
      rows.push(
        row(`durable updates, ${lanes} at once`, await updates(store, lanes), '/s', {baseline: await rawPuts(directory, lanes), note}),
      );
    const alone = await updates(store, 16);
    rows.push(
      row('the same with 1,000 watchers of all, 16 at once', await fanOut(store, 1000), '/s', {
        baseline: alone,
        note: 'raw limit: without watchers',
      }),
    );
    rows.push(...(await readRows(store, directory)));
    await store.close();
    const memory = memoryStore();
    rows.push(row('updates in memory, 128 at once', await updates(memory, 128), '/s'));
    await memory.close();
    return rows;
  } finally {
    rmSync(directory, {recursive: true, force: true});
  }
};
