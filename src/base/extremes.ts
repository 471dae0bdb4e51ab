/** Returns the smallest of any number of values; `Infinity` for none. */
export const leastOf = (numbers: Iterable<number>): number => {
  let least = Infinity;
  for (const number of numbers) least = Math.min(least, number);
  return least;
};

/** Returns the largest of any number of values; `-Infinity` for none. */
export const mostOf = (numbers: Iterable<number>): number => {
  let most = -Infinity;
  for (const number of numbers) most = Math.max(most, number);
  return most;
};
