/** The least of the numbers, however many there are; `Infinity` of none. */
export const leastOf = (numbers: Iterable<number>): number => {
  let least = Infinity;
  for (const number of numbers) least = Math.min(least, number);
  return least;
};

/** The most of the numbers, however many there are; `-Infinity` of none. */
export const mostOf = (numbers: Iterable<number>): number => {
  let most = -Infinity;
  for (const number of numbers) most = Math.max(most, number);
  return most;
};
