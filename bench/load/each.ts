/** Runs `work` for every number below `count`, some concurrently. */
export const each = async (count: number, work: (index: number) => Promise<unknown>, width = 64): Promise<void> => {
  let next = 0;
  await Promise.all(
    Array.from({length: width}, async () => {
      while (next < count) await work(next++);
    }),
  );
};

/** Returns how long `work` takes, in seconds. */
export const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
};

/** Returns the value below which that part of sorted values lies; 0 if there are none. */
export const percentile = (sorted: readonly number[], part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? 0;

/** Returns the median of a few values. */
export const median = (values: readonly number[]): number =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  );

/** Returns a number from the environment, or its default. Throws for anything that is not a positive number. */
export const setting = (name: `BENCH_${string}`, fallback: number): number => {
  const text = process.env[name];
  const value = text === undefined || text === '' ? fallback : Number(text);
  if (!(value > 0)) throw new Error(`${name} must be a positive number: ${text}`);
  return value;
};
