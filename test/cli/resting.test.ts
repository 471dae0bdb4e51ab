import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {processHeap, type EngineHeap} from '#src/program/engine-heap.js';
import {releaseIdleMemory} from '#src/program/idle-memory.js';

const mb = 1 << 20;

/** A heap with given sizes, in MB. */
class ReportedHeap implements EngineHeap {
  readonly collections: number[] = [];
  readonly begun: number[] = [];
  readonly #now: () => number;
  readonly #after: readonly [taken: number, used: number];
  #state: readonly [taken: number, used: number];
  work = 0;

  constructor(clock: VirtualClock, before: readonly [taken: number, used: number], after: readonly [taken: number, used: number]) {
    const start = clock.monotonic();
    this.#now = () => clock.monotonic() - start;
    this.#state = before;
    this.#after = after;
  }

  sizes() {
    return {reserved: this.#state[0] * mb, used: this.#state[1] * mb, external: 0};
  }

  busy() {
    return this.work;
  }

  collect() {
    this.collections.push(this.#now() / 1000);
    this.#state = this.#after;
  }

  /** A collection in steps, which has an effect at once here. */
  startCollection() {
    this.begun.push(this.#now() / 1000);
    this.#state = this.#after;
  }
}

test('an idle process returns the memory of its last burst, once', async t => {
  const clock = new VirtualClock();
  const heap = new ReportedHeap(clock, [60, 40], [20, 15]);
  releaseIdleMemory(clock, new AbortController().signal, heap);
  await clock.advance(600_000);

  t.deepEqual(heap.collections, [3]);
});

test('a process at work is left alone, and so is a very large heap', async t => {
  const clock = new VirtualClock();
  const busy = new ReportedHeap(clock, [60, 40], [20, 15]);
  busy.work = 0.2;
  const large = new ReportedHeap(clock, [900, 300], [600, 300]);
  for (const heap of [busy, large]) releaseIdleMemory(clock, new AbortController().signal, heap);
  await clock.advance(600_000);

  t.deepEqual(
    [busy, large].map(({collections, begun}) => [...collections, ...begun]),
    [[], []],
  );
});

test('a large heap is collected in steps, once, after some more time', async t => {
  const clock = new VirtualClock();
  const heap = new ReportedHeap(clock, [200, 130], [95, 85]);
  releaseIdleMemory(clock, new AbortController().signal, heap);
  await clock.advance(600_000);

  t.deepEqual([heap.collections, heap.begun], [[], [8]]);
});

test('collections that free little come less and less often', async t => {
  const clock = new VirtualClock();
  const heap = new ReportedHeap(clock, [60, 40], [58, 15]);
  releaseIdleMemory(clock, new AbortController().signal, heap);
  await clock.advance(100_000);

  t.deepEqual(heap.collections, [3, 8, 18, 38, 78]);
});

test('caches shrink when a process has been idle for a minute, and again only after more work', async t => {
  const clock = new VirtualClock();
  const heap = new ReportedHeap(clock, [20, 15], [20, 15]);
  const shrunk: number[] = [];
  releaseIdleMemory(clock, new AbortController().signal, heap, () => void shrunk.push(clock.monotonic() / 1000));
  const start = clock.monotonic() / 1000;
  await clock.advance(600_000);
  heap.work = 0.2;
  await clock.advance(10_000);
  heap.work = 0;
  await clock.advance(600_000);

  t.deepEqual(shrunk, [start + 60, start + 670]);
});

test('a process that stops stops looking', async t => {
  const clock = new VirtualClock();
  const heap = new ReportedHeap(clock, [60, 40], [20, 15]);
  const stopping = new AbortController();
  releaseIdleMemory(clock, stopping.signal, heap);
  stopping.abort();
  await clock.advance(60_000);

  t.deepEqual(heap.collections, []);
});

test('the heap of this very process can be collected', async t => {
  const heap = processHeap();
  let garbage: unknown[] | undefined = Array.from({length: 500_000}, (_, index) => ({index}));
  t.is(garbage.length, 500_000);
  garbage = undefined;
  const before = heap.sizes();
  await heap.collect();

  t.true(heap.sizes().used < before.used - 10 * mb);
  t.true(before.external > 0);
  t.true(heap.busy() >= 0 && heap.busy() <= 1);
  t.is(typeof globalThis.gc, 'undefined');
});
