const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

/** Formats a duration in its two largest units, as `2h5m`. */
export const shortAge = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const index = units.findIndex(([, size]) => seconds >= size);
  if (index < 0) return `${seconds}s`;
  const [unit, size] = units[index]!;
  const [smaller, smallerSize] = units[index + 1] ?? (['s', 1] as const);
  const rest = Math.floor((seconds % size) / smallerSize);
  return `${Math.floor(seconds / size)}${unit}${rest > 0 ? `${rest}${smaller}` : ''}`;
};
