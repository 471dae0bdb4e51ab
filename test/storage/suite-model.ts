import type {ExecutionContext} from 'ava';
import {seededRandom} from '#src/base/random.js';
import {KeyExists, RevisionMismatch} from '#src/storage/errors.js';
import {endOfPrefix, type Change, type RecordFilter, type StoredRecord} from '#src/storage/store.js';
import {brief, Follower} from './follower.js';
import {bytes, type StoreTest, type StoreEnvironment} from './store-environment.js';

type Snapshot = ReadonlyMap<string, {readonly value: string; readonly revision: number; readonly created: number}>;

/** A store in the plainest form: every state it ever had. */
class Model {
  readonly states: Snapshot[] = [new Map(), new Map()];
  readonly changes: string[] = [];

  get newest(): Snapshot {
    return this.states.at(-1)!;
  }

  write(key: string, value: string | undefined): void {
    const next = new Map(this.newest);
    const revision = this.states.length;
    const before = next.get(key);
    if (value === undefined) next.delete(key);
    else next.set(key, {value, revision, created: before?.created ?? revision});
    this.states.push(next);
    this.changes.push(`${value === undefined ? '-' : before ? '~' : '+'}${key} ${revision}`);
  }

  range(revision: number, start: string, end: string, passes = (_value: string) => true): string[] {
    const state = this.states[revision]!;
    const keys = [...state.keys()].filter(key => key >= start && key < end && passes(state.get(key)!.value)).sort();
    return keys.map(key => `${key} ${JSON.stringify(state.get(key))}`);
  }
}

/** A record as the model shows it. */
const shown = ({key, value, revision, created}: StoredRecord): string =>
  `${key} ${JSON.stringify({value: value.toString(), revision, created})}`;

/** Few keys, many of them prefixes of others. */
const keys = ['/a', '/a/a', '/a/b', '/a/b/c', '/ab', '/b', '/b/a', '/b/aa', '/c', '/c/0', '/c/0/1'];

const play = async (t: ExecutionContext, {store}: StoreEnvironment, seed: number): Promise<void> => {
  const random = seededRandom(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.float() * of.length)]!;
  const model = new Model();
  const followers: {follower: Follower; after: number}[] = [];
  let compacted = 0;

  const write = (): Promise<unknown> => {
    const key = pick(keys);
    const value = String(random.float());
    const known = model.newest.get(key);
    const expected = random.float() < 0.1 ? Math.floor(random.float() * model.states.length) : (known?.revision ?? 0);
    const kind = pick(['create', 'update', 'update', 'delete'] as const);
    if (kind === 'create') {
      if (known) return t.throwsAsync(store.create(key, bytes(value)), {instanceOf: KeyExists});
      model.write(key, value);
      return store.create(key, bytes(value));
    }
    const attempt = kind === 'update' ? store.update(key, bytes(value), expected) : store.delete(key, expected);
    if (known?.revision !== expected) return t.throwsAsync(attempt, {instanceOf: RevisionMismatch});
    model.write(key, kind === 'update' ? value : undefined);
    return attempt;
  };

  const compare = async (): Promise<void> => {
    const newest = await store.revision();
    const revision = Math.max(1, compacted, Math.floor(random.float() * (newest + 1)));
    const start = pick(['/', ...keys]);
    const end = pick(['0', endOfPrefix(start), `${start}\0`]);
    const limit = pick([undefined, 1, 2, 5]);
    const expected = model.range(revision, start, end);
    const range = await store.range({start, end, revision, ...(limit === undefined ? {} : {limit})});
    t.deepEqual(range.records.map(shown), expected.slice(0, limit));
    t.is(range.more, expected.length > (limit ?? Infinity));
  };

  /** Compares what a filter lets through, which a store may remember by the filter's id. */
  const compareFiltered = async (): Promise<void> => {
    const start = pick(['/', ...keys]);
    const end = endOfPrefix(start);
    const digit = pick(['1', '7']);
    const filter: RecordFilter = {id: digit, known: () => undefined, passes: ({value}) => value.includes(digit)};
    const found: string[] = [];
    let [from, revision]: [string, number | undefined] = [start, undefined];
    for (let more = true; more;) {
      const bound = pick([{}, {limit: 1}, {limit: 2}, {bytes: 20}]);
      const range = await store.range({start: from, end, filter, ...bound, ...(revision === undefined ? {} : {revision})});
      found.push(...range.records.map(shown));
      ({more, revision} = range);
      from = `${range.reached ?? range.records.at(-1)?.key ?? ''}\0`;
    }
    t.deepEqual(
      found,
      model.range(revision!, start, end, value => value.includes(digit)),
    );
  };

  for (let step = 0; step < 400; step++) {
    const chance = random.float();
    if (random.float() < 0.3) await compareFiltered();
    if (chance < 0.75) {
      const count = 1 + Math.floor(random.float() * 6);
      // Others may come between calls made at once, so that their order is not known.
      if (store.shared) for (let i = 0; i < count; i++) await write();
      else {
        const writes = Array.from({length: count}, write);
        if (random.float() < 0.5) await Promise.all(writes);
      }
    } else if (chance < 0.93) await compare();
    else if (chance < 0.98) {
      const after = Math.max(compacted, Math.floor(random.float() * (await store.revision())));
      followers.push({follower: new Follower(store, {after}), after});
    } else {
      for (const {follower} of followers) await follower.until(({progressed}) => progressed.length > 0);
      compacted = Math.max(compacted, Math.floor(random.float() * (await store.revision())));
      await store.compact(compacted);
    }
  }
  const last = model.states.length - 1;
  const reported = (change: Change): number => change.revision;
  for (const {follower, after} of followers) {
    await follower.until(({received, progressed}) => (received.at(-1)?.revision ?? progressed.at(-1) ?? after) >= last || after >= last);
    t.deepEqual(follower.received.map(brief), model.changes.slice(Math.max(0, after - 1)));
    t.true(follower.received.every((change, i) => i === 0 || reported(change) === reported(follower.received[i - 1]!) + 1));
    for (const {key, revision, record, previous} of follower.received) {
      t.is(record?.value.toString(), model.states[revision]!.get(key)?.value);
      t.is(previous?.value.toString(), model.states[revision - 1]!.get(key)?.value);
      t.is(previous?.revision, model.states[revision - 1]!.get(key)?.revision);
    }
  }
};

export const modelSuite = (test: StoreTest): void => {
  const title = (seed: number): string => `random operations agree with a plain model (seed ${seed})`;
  for (const seed of [1, 2]) test(title(seed), (t, environment) => play(t, environment, seed));
  for (const seed of [3, 4, 5, 6]) test.alone(title(seed), (t, environment) => play(t, environment, seed));
};
