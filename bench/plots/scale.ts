/** Maps values to pixels, and names the values to mark. */
export interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

/** Where the pixels of an axis begin and end. */
export type Range = readonly [from: number, to: number];

/** A logarithmic scale over positive values, marked at powers of ten. */
export const logScale = (values: readonly number[], [from, to]: Range): Scale => {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    at: value => from + ((Math.log10(value) - low) / (high - low)) * (to - from),
    ticks: Array.from({length: high - low + 1}, (_, index) => 10 ** (low + index)),
  };
};

/** A linear scale from 0, marked at some four round values. */
export const linearScale = (values: readonly number[], [from, to]: Range): Scale => {
  const high = Math.max(...values) || 1;
  const power = 10 ** Math.floor(Math.log10(high / 4));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(step => high / step <= 5)!;
  const end = Math.ceil(high / step) * step;
  return {
    at: value => from + (value / end) * (to - from),
    ticks: Array.from({length: Math.round(end / step) + 1}, (_, index) => index * step),
  };
};

/** The spread above which linear scales hide small values. */
const wideSpread = 30;

/** A logarithmic scale for values that differ much, a linear one for others. */
export const fittingScale = (values: readonly number[], range: Range): Scale =>
  Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > wideSpread ? logScale(values, range) : linearScale(values, range);

/** Writes a number of an axis in few characters. */
export const shortNumber = (value: number): string =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 1000 ? `${value / 1000}k` : String(Number(value.toPrecision(3)));
