/** Runs `work` for every number below `count`, 64 concurrently. */
export const each = async (count: number, work: (index: number) => Promise<unknown>): Promise<void> => {
  let next = 0;
  await Promise.all(
    Array.from({length: 64}, async () => {
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
