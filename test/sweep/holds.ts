/** How long a piece of work held the event loop at most, and how long it took. */
export interface Held {
  readonly longestMs: number;
  readonly ms: number;
}

/** Does something and watches the event loop meanwhile. Time in which the process had no processor does not count as held. */
export const watchingTheLoop = async <T>(act: () => Promise<T>): Promise<Held & {readonly answer: T}> => {
  let longestMs = 0;
  let at = performance.now();
  let used = process.cpuUsage();
  const look = () => {
    const now = performance.now();
    const {user, system} = process.cpuUsage(used);
    longestMs = Math.max(longestMs, Math.min(now - at, (user + system) / 1000));
    at = performance.now();
    used = process.cpuUsage();
  };
  let turn = setImmediate(function again() {
    look();
    turn = setImmediate(again);
  });
  const begun = performance.now();
  try {
    const answer = await act();
    await new Promise(resolve => setImmediate(resolve));
    look();
    return {answer, longestMs, ms: performance.now() - begun};
  } finally {
    clearImmediate(turn);
  }
};
