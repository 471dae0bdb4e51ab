export interface Started {
  readonly successes: number;
  /** The first failure of the last batch, if there was one. */
  readonly error?: unknown;
}

/**
 * Calls `call` for 0 to `count` - 1 in batches of 1, 2, 4 and so on, up to `maxBatch`, concurrently within a batch, and
 * stops after the first batch with a failure: calls that always fail are tried once, not a thousand times.
 */
export const slowStart = async (
  count: number,
  call: (index: number) => Promise<unknown>,
  {mostAtOnce: maxBatch = Infinity}: {readonly mostAtOnce?: number} = {},
): Promise<Started> => {
  let successes = 0;
  let size = 1;
  for (let next = 0; next < count;) {
    const batch = Math.min(size, maxBatch, count - next);
    const results = await Promise.allSettled(Array.from({length: batch}, (_, offset) => call(next + offset)));
    const failure = results.find(({status}) => status === 'rejected');
    successes += results.filter(({status}) => status === 'fulfilled').length;
    if (failure?.status === 'rejected') return {successes, error: failure.reason as unknown};
    next += batch;
    size *= 2;
  }
  return {successes};
};
