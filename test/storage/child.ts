import {writeSync} from 'node:fs';
import {systemRandom} from '#src/base/random.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import type {Store} from '#src/storage/store.js';

/** How many writers there are, and how many keys each has to itself. */
const writers = 16;
const keysEach = 8;

const print = (line: string): void => void writeSync(1, `${line}\n`);

/** Writes, and prints each acknowledged revision, until it is killed. */
const write = async (store: Store, writer: number): Promise<never> => {
  for (;;) {
    const key = `/w${writer}/${Math.floor(systemRandom.float() * keysEach)}`;
    const value = `${systemRandom.uuid()}${'x'.repeat(Math.floor(systemRandom.float() * 3000))}`;
    const known = await store.get(key);
    if (!known) print(`${key} ${await store.create(key, Buffer.from(value))} ${value.slice(0, 36)}`);
    else if (systemRandom.float() < 0.3) print(`${key} ${await store.delete(key, known.revision)} -`);
    else print(`${key} ${await store.update(key, Buffer.from(value), known.revision)} ${value.slice(0, 36)}`);
  }
};

/** Writes for a second, whatever is refused, and prints how often what happened. */
const persist = async (store: Store): Promise<void> => {
  const counts: Record<string, number> = {};
  const end = performance.now() + 1000;
  const writer = async (name: number): Promise<void> => {
    for (let index = 0; performance.now() < end; index++) {
      const outcome = await store.create(`/w${name}/${index}`, Buffer.alloc(2000)).then(
        () => 'written',
        (error: Error) => error.name,
      );
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      await new Promise(resolve => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({length: writers}, (_, name) => writer(name)));
  print(JSON.stringify(counts));
};

const compact = async (store: Store): Promise<never> => {
  for (;;) {
    await new Promise(resolve => setTimeout(resolve, 10));
    await store.compact(Math.max(1, (await store.revision()) - 300));
  }
};

const [task, directory = '', naming = 'plat'] = process.argv.slice(2);
try {
  const store = await openEmbeddedStore({directory, naming});
  print('open');
  if (task === 'write') await Promise.all([compact(store), ...Array.from({length: writers}, (_, writer) => write(store, writer))]);
  if (task === 'hold') setInterval(() => {}, 1000);
  if (task === 'persist') await persist(store);
  if (task === 'open' || task === 'persist') await store.close();
} catch (error) {
  print((error as Error).message);
}
