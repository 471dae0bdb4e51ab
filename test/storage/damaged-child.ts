// Opens damaged copies of a store and prints what it found, one line for each. A process of its own: a damaged file
// that is mapped can end a process by a signal.

import {mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {seededRandom, type Random} from '#src/base/random.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {StoreUnusable, ValueUnreadable} from '#src/storage/errors.js';
import type {Store} from '#src/storage/store.js';

const pageBytes = 4096;

/** How a copy is damaged. */
const damages: Readonly<Record<string, (file: Buffer, random: Random) => Buffer>> = {
  bits(file, random) {
    for (let flips = 1 + Math.floor(random.float() * 3); flips > 0; flips--)
      file[Math.floor(random.float() * file.length)]! ^= 1 << Math.floor(random.float() * 8);
    return file;
  },
  headers(file, random) {
    const page = Math.floor(random.float() * (file.length / pageBytes));
    file[page * pageBytes + Math.floor(random.float() * 40)]! ^= 1 << Math.floor(random.float() * 8);
    return file;
  },
  metas(file, random) {
    file[(random.float() < 0.5 ? 0 : pageBytes) + Math.floor(random.float() * 168)]! ^= 1 << Math.floor(random.float() * 8);
    return file;
  },
  page(file, random) {
    const at = Math.floor(random.float() * (file.length / pageBytes)) * pageBytes;
    file.fill(random.float() < 0.5 ? 0 : 0xff, at, at + pageBytes);
    return file;
  },
  cut: (file, random) => file.subarray(0, 1 + Math.floor(random.float() * (file.length - 1))),
};

/** Reads every key and every range. Returns what is wrong although the store said nothing. */
const lies = async (store: Store, expected: ReadonlyMap<string, string>): Promise<string[]> => {
  const found: string[] = [];
  const damaged = new Set<string>();
  for (const [key, value] of expected) {
    try {
      const record = await store.get(key);
      if (record?.value.toString('latin1') !== value) found.push(`${key} is ${record ? 'another' : 'gone'}`);
    } catch (error) {
      if (!(error instanceof ValueUnreadable) || error.key !== key) throw error;
      damaged.add(key);
    }
  }
  try {
    const {records} = await store.range({start: '/', end: '0'});
    if (damaged.size > 0 || records.length !== expected.size) found.push('the list says nothing');
  } catch (error) {
    if (!(error instanceof ValueUnreadable)) throw error;
  }
  await new Promise<void>(resolve => {
    const compacted = store.compacted();
    const watch = store.watch(
      {start: '/', end: '0', after: compacted as number},
      {changes: () => {}, progress: () => (watch[Symbol.dispose](), resolve()), ended: () => resolve()},
    );
  });
  for (const key of damaged) {
    const failure = await Promise.resolve()
      .then(() => store.get(key))
      .then(
        () => undefined,
        (error: unknown) => error as ValueUnreadable,
      );
    await store.delete(key, failure!.revision!);
    if (await store.get(key)) found.push(`${key} is there after its deletion`);
  }
  await store.create('/new', Buffer.from('x'));
  await store.compact(await store.revision());
  const {records} = await store.range({start: '/', end: '0'});
  if (records.length !== expected.size - damaged.size + 1) found.push('other keys are gone');
  return found;
};

const [directory = '', original = '', kind = '', from = '', to = ''] = process.argv.slice(2);
const expected = new Map(JSON.parse(readFileSync(`${original}.json`, 'utf8')) as [string, string][]);
const file = readFileSync(original);
for (let seed = Number(from); seed < Number(to); seed++) {
  rmSync(directory, {recursive: true, force: true});
  mkdirSync(directory, {recursive: true});
  writeFileSync(join(directory, 'data.mdb'), damages[kind]!(Buffer.from(file), seededRandom(seed)));
  writeFileSync(join(directory, 'store.json'), '');
  let outcome: string;
  try {
    const store = await openEmbeddedStore({directory, naming: 'plat'});
    outcome = `opened ${(await lies(store, expected)).join(', ')}`.trim();
    await store.close();
  } catch (error) {
    outcome = error instanceof StoreUnusable && !error.message.includes('\n') ? 'refused' : `failed ${(error as Error).stack}`;
  }
  console.log(`${seed} ${outcome}`);
}
