// Whether figures stay level: measured again and again under the same load, they may go up and down but not grow.

/** A figure that is measured after each cycle. */
export interface Figure {
  readonly name: string;
  /** How much higher the later half may be than the earlier: a part of it, and an amount. */
  readonly part: number;
  readonly amount: number;
}

const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2;
};

/**
 * Returns what is wrong if a figure grew: if the median of its later half is higher than that of the earlier by more
 * than it may be.
 */
export const growth = ({name, part, amount}: Figure, values: readonly number[]): string | undefined => {
  if (values.length < 4) return undefined;
  const middle = Math.floor(values.length / 2);
  const [early, late] = [median(values.slice(0, middle)), median(values.slice(-middle))];
  return late > early * (1 + part) + amount ? `${name} grew from ${round(early)} to ${round(late)}` : undefined;
};

const round = (value: number): number => Math.round(value * 10) / 10;

/** Returns the lines of a table with a row for each measurement. */
export const tableOf = (figures: readonly Figure[], rows: readonly (readonly number[])[]): string[] => {
  const cells = [
    ['cycle', ...figures.map(({name}) => name)],
    ...rows.map((row, index) => [String(index + 1), ...row.map(value => String(round(value)))]),
  ];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map(row => row[column]!.length)));
  return cells.map(row => row.map((cell, column) => cell.padStart(widths[column]!)).join('  '));
};
