// Expectations, as upstream's controllers use them: a controller does not act on a parent again before its cache has
// caught up with its own creations and deletions, or five minutes have passed. Differs from upstream: creations are
// tracked by name, as deletions are, so that a pod whose creation seemed to fail is not taken for another one.

import type {Clock} from '#src/base/clock.js';

/** The time after which an expectation expires. */
const timeoutMs = 300_000;

interface Expected {
  readonly creations: Set<string>;
  readonly deletions: Set<string>;
  readonly at: number;
}

/**
 * The objects that a controller creates and deletes, and has not yet observed in its cache, by the key of the parent.
 * Set before the calls; an object is taken out by its event, by a failed call and by a call that was not made.
 */
export interface TrackingExpectations {
  /** Replaces the expectations. `children` are keys of objects. */
  expectCreations(key: string, children: readonly string[]): void;
  expectDeletions(key: string, children: readonly string[]): void;
  /** Sets both at once. */
  expectBoth(key: string, creations: readonly string[], deletions: readonly string[]): void;
  created(key: string, child: string): void;
  /** The deletion timestamp and the deletion count once. */
  deleted(key: string, child: string): void;
  /** Whether the cache shows all expected changes, or they expired, or there were none. */
  satisfied(key: string): boolean;
  forget(key: string): void;
}

export const trackingExpectations = (clock: Clock): TrackingExpectations => {
  const records = new Map<string, Expected>();
  const expectBoth: TrackingExpectations['expectBoth'] = (key, creations, deletions) =>
    void records.set(key, {creations: new Set(creations), deletions: new Set(deletions), at: clock.now()});
  return {
    expectCreations: (key, children) => expectBoth(key, children, []),
    expectDeletions: (key, children) => expectBoth(key, [], children),
    expectBoth,
    created: (key, child) => void records.get(key)?.creations.delete(child),
    deleted: (key, child) => void records.get(key)?.deletions.delete(child),
    satisfied(key) {
      const record = records.get(key);
      return !record || record.creations.size + record.deletions.size === 0 || clock.now() - record.at > timeoutMs;
    },
    forget: key => void records.delete(key),
  };
};
