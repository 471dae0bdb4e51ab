/**
 * Returns a function that waits until something is found, for at most so many seconds of real time: containers have no
 * other.
 */
export const untilWithin =
  (seconds: number) =>
  async <T>(t: {fail(message: string): unknown}, what: string, look: () => Promise<T | undefined | false>): Promise<T> => {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      const found = await look();
      if (found) return found;
      if (Date.now() > end) t.fail(`waited in vain until ${what}`);
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  };
