/** Goes on with a value at once, or when it comes. */
export const andThen = <A, B>(value: A | Promise<A>, next: (value: A) => B | Promise<B>): B | Promise<B> => (value instanceof Promise ? value.then(next) : next(value));

/** Does something and reports its value or its error, at once or when it comes; the outcome stays as it is. */
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
