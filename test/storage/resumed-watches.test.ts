import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {LocalStore} from '#src/storage/local/store.js';
import type {History, HistoryQuery} from '#src/storage/local/engine.js';
import {MemoryEngine} from '#src/storage/memory/engine.js';
import type {Change, Watcher} from '#src/storage/store.js';
import {bytes} from './store-environment.js';

/** An engine that counts the changes it reads from history. */
class CountingEngine extends MemoryEngine {
  read = 0;

  override history(query: HistoryQuery): History {
    const history = super.history(query);
    this.read += history.changes.length;
    return history;
  }
}

const total = 3000;

const aStore = async () => {
  const engine = new CountingEngine();
  const store = new LocalStore(engine, new VirtualClock());
  for (let index = 0; index < total; index++) await store.create(`/k/${index}`, bytes('x'.repeat(2000)));
  return {engine, store};
};

/** A watcher that takes a batch only on demand. */
class SlowWatcher implements Watcher {
  readonly received: Change[] = [];
  isLive = false;
  #take: (() => void) | undefined;

  changes(batch: readonly Change[]): Promise<void> {
    this.received.push(...batch);
    return new Promise(resolve => (this.#take = resolve));
  }

  progress(): void {
    this.isLive = true;
  }

  ended(): void {}

  take(): void {
    this.#take?.();
  }
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve));
};

test('watches that resume from about the same revision read history once', async t => {
  const {engine, store} = await aStore();
  const counts = Array.from({length: 50}, () => 0);
  const ended = counts.map(
    (_, index) =>
      new Promise<void>(resolve => {
        const after = 1 + (index % 20);
        store.watch(
          {start: '/', end: '0', after},
          {
            changes: batch => void (counts[index]! += batch.length),
            progress: () => resolve(),
            ended: () => resolve(),
          },
        );
      }),
  );
  await Promise.all(ended);

  t.deepEqual(
    counts,
    counts.map((_, index) => total - (index % 20)),
  );
  t.true(engine.read < 3 * total, `${engine.read} changes were read`);
  await store.close();
});

test('a watch that resumes is given a piece at a time, and the next one when it has taken that', async t => {
  const {engine, store} = await aStore();
  const watcher = new SlowWatcher();
  store.watch({start: '/', end: '0', after: 1}, watcher);
  await turns(50);

  const first = watcher.received.length;
  t.true(first > 0 && first * 2000 <= 600_000, `${first} changes at once`);
  t.is(engine.read, first);
  for (let piece = 0; !watcher.isLive && piece < total; piece++) {
    watcher.take();
    await turns(3);
  }
  t.deepEqual(
    watcher.received.map(({revision}) => revision),
    Array.from({length: total}, (_, index) => index + 2),
  );
  await store.close();
});
