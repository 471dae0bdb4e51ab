/** Returns all choices of `count` items, in order. */
export const combinations = function* <T>(items: readonly T[], count: number): Generator<readonly T[]> {
  if (count === 0) {
    yield [];
    return;
  }
  for (let at = 0; at <= items.length - count; at++)
    for (const rest of combinations(items.slice(at + 1), count - 1)) yield [items[at]!, ...rest];
};
