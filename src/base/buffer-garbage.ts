// Buffers that are soon garbage. They weigh little in the heap, so that many megabytes of them may wait for its next
// collection, and the system's allocator seldom returns such a peak.

const collectEveryBytes = 16 << 20;

let collect: (() => void) | undefined;
let counted = 0;

/** Sets what collects new objects, in a program that may do so. */
export const collectBuffersBy = (collector: () => void): void => {
  collect = collector;
};

/**
 * Counts a buffer that was made to be sent, or read, once. Every 16 MiB of them, those that are no longer in use are
 * collected.
 */
export const countBuffer = (bytes: number): void => {
  counted += bytes;
  if (counted < collectEveryBytes) return;
  counted = 0;
  collect?.();
};
