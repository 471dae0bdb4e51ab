import type {ExecutionContext} from 'ava';
import type {Clock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Store} from '#src/storage/store.js';
import {lifeSuite} from './suite-life.js';
import {modelSuite} from './suite-model.js';
import {readSuite} from './suite-reads.js';
import {watchSuite} from './suite-watches.js';
import {writeSuite} from './suite-writes.js';
import type {StoreTest, StoreEnvironment} from './store-environment.js';

/** One way to have a store, and to have it again after it was closed. */
export interface Backend {
  readonly name: string;
  /** Whether others could hold the store, too. */
  readonly isShared?: boolean;
  /** 3 MiB is taken and no more, unless the store has another limit. */
  readonly valueLengths?: StoreEnvironment['valueLengths'];
  /** Opens an empty store. */
  open(clock: Clock): Promise<Store>;
}

/** The contract of every store, whichever engine keeps its records. */
export const storeSuite = (
  test: (title: string, body: (t: ExecutionContext) => Promise<void>) => void,
  backend: Backend,
  suites = [writeSuite, readSuite, watchSuite, lifeSuite, modelSuite],
): void => {
  const state = (title: string, body: (t: ExecutionContext, environment: StoreEnvironment) => Promise<void>): void =>
    test(`${backend.name}: ${title}`, async t => {
      const clock = new VirtualClock();
      const store = await backend.open(clock);
      try {
        await body(t, {store, clock, valueLengths: backend.valueLengths ?? {taken: 3 << 20, refused: (3 << 20) + 1}});
      } finally {
        await store.close();
      }
    });
  const storeTest: StoreTest = Object.assign(state, {alone: backend.isShared ? () => {} : state});
  for (const suite of suites) suite(storeTest);
};
