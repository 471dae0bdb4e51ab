/** A number, or a percentage such as `25%`. */
export type IntOrPercent = number | string;

const percent = /^[0-9]+%$/;

/** Returns the number of a percentage; undefined for other values. */
export const percentOf = (value: IntOrPercent): number | undefined =>
  typeof value === 'string' && percent.test(value) ? Number(value.slice(0, -1)) : undefined;

/**
 * Returns the absolute number for `total`, rounding percentages `up` or `down`. Throws for a string that is not a
 * percentage.
 */
export const resolveIntOrPercent = (value: IntOrPercent, total: number, round: 'up' | 'down'): number => {
  if (typeof value === 'number') return value;
  const share = percentOf(value);
  if (share === undefined) throw new Error('invalid value for IntOrString: invalid type: string is not a percentage');
  return Math[round === 'up' ? 'ceil' : 'floor']((share * total) / 100);
};
