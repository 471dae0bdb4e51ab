/** Passes over a refusal that was to be expected, above all one that says that somebody else was faster. */
export const unless = (isExpected: (error: unknown) => boolean) => (error: unknown): void => {
  if (!isExpected(error)) throw error;
};
