/** Returns an error handler that ignores expected errors, such as conflicts, and throws others. */
export const ignoring =
  (isExpected: (error: unknown) => boolean) =>
  (error: unknown): void => {
    if (!isExpected(error)) throw error;
  };
