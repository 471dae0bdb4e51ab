import test from 'ava';
import {sleep, systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {processHeap, type EngineHeap, type HeapSizes} from '#src/program/engine-heap.js';
import {boundHeapGrowth} from '#src/program/heap-growth.js';

const mb = 1 << 20;

/** A heap that grows by so many MB a second, of which a part are buffers, and keeps `kept` MB when it is collected. */
class GrowingHeap implements EngineHeap {
  readonly begun: number[] = [];
  looks = 0;
  readonly #clock: VirtualClock;
  readonly #start: number;
  readonly #kept: number;
  readonly #rate: number;
  readonly #buffers: number;
  #since: number;

  constructor(clock: VirtualClock, kept: number, rate: number, buffers = 0.1) {
    this.#clock = clock;
    this.#start = this.#since = clock.monotonic();
    this.#kept = kept;
    this.#rate = rate;
    this.#buffers = buffers;
  }

  sizes(): HeapSizes {
    this.looks++;
    const grown = ((this.#clock.monotonic() - this.#since) / 1000) * this.#rate * mb;
    return {reserved: 0, used: this.#kept * mb + grown * (1 - this.#buffers), external: grown * this.#buffers};
  }

  busy() {
    return 1;
  }

  collect() {
    throw new Error('a process at work is not stopped');
  }

  startCollection() {
    this.#since = this.#clock.monotonic();
    this.begun.push((this.#since - this.#start) / 1000);
  }
}

test('a heap is collected whenever it has grown by two fifths and some more', async t => {
  const clock = new VirtualClock();
  const heap = new GrowingHeap(clock, 100, 10);
  boundHeapGrowth(clock, new AbortController().signal, heap);
  await clock.advance(20_000);

  // Of 105 MB at the first look: 163 MB, which is 63 MB more; then of 105 MB again, at the look after the collection.
  t.deepEqual(heap.begun, [6.5, 13, 19.5]);
});

test('buffers alone are collected when they have grown by 12 MB', async t => {
  const clock = new VirtualClock();
  const heap = new GrowingHeap(clock, 100, 10, 1);
  boundHeapGrowth(clock, new AbortController().signal, heap);
  await clock.advance(5000);

  // Of 5 MB at the first look.
  t.deepEqual(heap.begun, [2, 4]);
});

test('a heap that grows quickly is not collected all the time', async t => {
  const clock = new VirtualClock();
  const heap = new GrowingHeap(clock, 500, 100);
  boundHeapGrowth(clock, new AbortController().signal, heap);
  await clock.advance(120_000);
  const pauses = heap.begun.slice(1).map((at, index) => at - heap.begun[index]!);

  t.true(pauses.length >= 2 && Math.min(...pauses) >= 6, String(heap.begun));
});

test('a heap that does not grow is not collected, nor that of a process that stops', async t => {
  const clock = new VirtualClock();
  const resting = new GrowingHeap(clock, 100, 0);
  const stopped = new GrowingHeap(clock, 100, 10);
  boundHeapGrowth(clock, new AbortController().signal, resting);
  boundHeapGrowth(clock, AbortSignal.abort(), stopped);
  await clock.advance(600_000);

  t.deepEqual([resting.begun, stopped.begun], [[], []]);
  t.true(resting.looks < 310, String(resting.looks));
});

test('a collection in steps of this very process frees what is garbage', async t => {
  using _ = systemClock.keepAlive();
  const heap = processHeap();
  const fill = (): number => Array.from({length: 500_000}, (_, index) => ({index})).length;
  t.is(fill(), 500_000);
  const before = heap.sizes().used;
  heap.startCollection();
  while (heap.sizes().used > before - 10 * mb) await sleep(systemClock, 5);

  t.is(typeof globalThis.gc, 'undefined');
});
