/** Applies `next` to a value, synchronously unless the value is a promise. */
export const andThen = <A, B>(value: A | Promise<A>, next: (value: A) => B | Promise<B>): B | Promise<B> =>
  value instanceof Promise ? value.then(next) : next(value);

/** Runs a function and passes its value or error to a callback, synchronously unless it returns a promise. Returns or throws what the function did. */
export const observed = <T>(run: () => T | Promise<T>, done: (value: T) => void, failed: (error: unknown) => void): T | Promise<T> => {
  const rethrow = (error: unknown): never => {
    failed(error);
    throw error;
  };
  let outcome: T | Promise<T>;
  try {
    outcome = run();
  } catch (error) {
    return rethrow(error);
  }
  if (outcome instanceof Promise) {
    return outcome.then(value => {
      done(value);
      return value;
    }, rethrow);
  }
  done(outcome);
  return outcome;
};
