// Values that exist or will. Most steps of most requests have their values at once, and each `await` costs as much as
// the step: these functions go on within the same turn where they can. All code outside of the store that treats a
// value and its promise alike does it through them.

export type Eventually<T> = T | Promise<T>;

/** Applies `next` to a value, synchronously unless the value is a promise. */
export const andThen = <A, B>(value: Eventually<A>, next: (value: A) => Eventually<B>): Eventually<B> =>
  value instanceof Promise ? value.then(next) : next(value);

/**
 * Runs a function and goes on with its value or its error, synchronously unless it returns a promise. An error of
 * `done` is thrown, and not passed to `failed`.
 */
export const settle = <A, B>(
  run: () => Eventually<A>,
  done: (value: A) => Eventually<B>,
  failed: (error: unknown) => Eventually<B>,
): Eventually<B> => {
  let outcome: Eventually<A>;
  try {
    outcome = run();
  } catch (error) {
    return failed(error);
  }
  return outcome instanceof Promise ? outcome.then(done, failed) : done(outcome);
};

/**
 * Runs a function and passes its value or error to a callback, synchronously unless it returns a promise. Returns or
 * throws what the function did.
 */
export const observe = <T>(run: () => Eventually<T>, done: (value: T) => void, failed: (error: unknown) => void): Eventually<T> =>
  settle<T, T>(
    run,
    value => {
      done(value);
      return value;
    },
    (error: unknown) => {
      failed(error);
      throw error;
    },
  );

/**
 * Whether a value does not exist yet. For code that does something else until then; code that goes on with the value
 * uses the functions above.
 */
export const isPending = <T>(value: Eventually<T>): value is Promise<T> => value instanceof Promise;

/** Asks for each item in turn until the answer is not undefined. */
export const firstResult = <T, R>(
  items: readonly T[],
  ask: (item: T) => Eventually<R | undefined>,
  from = 0,
): Eventually<R | undefined> => {
  for (let index = from; index < items.length; index++) {
    const found = ask(items[index]!);
    if (found instanceof Promise) return found.then(one => (one === undefined ? firstResult(items, ask, index + 1) : one));
    if (found !== undefined) return found;
  }
  return undefined;
};
