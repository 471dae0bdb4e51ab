import type {Clock} from '#src/base/clock.js';

/** What is not seen after that time will not be waited for. */
const timeoutMs = 300_000;

interface Expected {
  creations: number;
  deletions: number;
  readonly at: number;
}

/**
 * What a controller has set off and not yet seen in its cache, by the key of the parent. Set before the calls; lowered by what is seen, by calls
 * that failed and by calls that were never made.
 */
export interface Expectations {
  /** Replaces whatever was expected. */
  expect(key: string, count: {readonly creations?: number; readonly deletions?: number}): void;
  created(key: string, count?: number): void;
  deleted(key: string, count?: number): void;
  /** Whether the cache shows all that was set off, or has had its time to, or nothing was. */
  satisfied(key: string): boolean;
  forget(key: string): void;
}

export const expectations = (clock: Clock): Expectations => {
  const records = new Map<string, Expected>();
  return {
    expect: (key, {creations = 0, deletions = 0}) => void records.set(key, {creations, deletions, at: clock.now()}),
    created(key, count = 1) {
      const record = records.get(key);
      if (record) record.creations -= count;
    },
    deleted(key, count = 1) {
      const record = records.get(key);
      if (record) record.deletions -= count;
    },
    satisfied(key) {
      const record = records.get(key);
      return !record || (record.creations <= 0 && record.deletions <= 0) || clock.now() - record.at > timeoutMs;
    },
    forget: key => void records.delete(key),
  };
};

/** Expectations that know which objects are to go: the mark of deletion and the deletion itself count once. */
export interface TrackingExpectations extends Pick<Expectations, 'created' | 'satisfied' | 'forget'> {
  expectCreations(key: string, count: number): void;
  /** `children` are keys of objects. */
  expectDeletions(key: string, children: readonly string[]): void;
  /** Both at once. */
  expectBoth(key: string, creations: number, children: readonly string[]): void;
  deleted(key: string, child: string): void;
}

export const trackingExpectations = (clock: Clock): TrackingExpectations => {
  const counts = expectations(clock);
  const expectedDeletions = new Map<string, Set<string>>();
  const expectBoth = (key: string, creations: number, children: readonly string[]) => {
    expectedDeletions.set(key, new Set(children));
    counts.expect(key, {creations, deletions: expectedDeletions.get(key)!.size});
  };
  return {
    created: counts.created,
    satisfied: counts.satisfied,
    expectCreations: (key, creations) => counts.expect(key, {creations}),
    expectDeletions: (key, children) => expectBoth(key, 0, children),
    expectBoth,
    deleted(key, child) {
      if (expectedDeletions.get(key)?.delete(child)) counts.deleted(key);
    },
    forget(key) {
      counts.forget(key);
      expectedDeletions.delete(key);
    },
  };
};
