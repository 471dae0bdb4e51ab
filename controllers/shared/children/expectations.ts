// Expectations, as upstream's controllers use them: a controller does not act on a parent again before its cache has caught up with its own creations and
// deletions, or five minutes have passed.

import type {Clock} from '#src/base/clock.js';

/** The time after which an expectation expires. */
const timeoutMs = 300_000;

interface Expected {
  creations: number;
  deletions: number;
  readonly at: number;
}

/**
 * Changes that a controller has made and not yet observed in its cache, by the key of the parent. Set before the calls; lowered by events, by failed
 * calls and by calls that were not made.
 */
export interface Expectations {
  /** Replaces the expectations. */
  expect(key: string, count: {readonly creations?: number; readonly deletions?: number}): void;
  created(key: string, count?: number): void;
  deleted(key: string, count?: number): void;
  /** Whether the cache shows all expected changes, or they expired, or there were none. */
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

/** Expectations that track the objects to be deleted: the deletion timestamp and the deletion count once. */
export interface TrackingExpectations extends Pick<Expectations, 'created' | 'satisfied' | 'forget'> {
  expectCreations(key: string, count: number): void;
  /** `children` are keys of objects. */
  expectDeletions(key: string, children: readonly string[]): void;
  /** Sets both at once. */
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
