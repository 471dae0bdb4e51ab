/** A count, or a share of a whole such as `25%`. */
export type IntOrPercent = number | string;

const percent = /^[0-9]+%$/;

/** The number before the percent sign; undefined for counts and for other texts. */
export const percentOf = (value: IntOrPercent): number | undefined => (typeof value === 'string' && percent.test(value) ? Number(value.slice(0, -1)) : undefined);

/** So many of `total`; a share that does not come out even goes `up` or `down`. Throws for a text that is no share. */
export const resolveIntOrPercent = (value: IntOrPercent, total: number, round: 'up' | 'down'): number => {
  if (typeof value === 'number') return value;
  const share = percentOf(value);
  if (share === undefined) throw new Error('invalid value for IntOrString: invalid type: string is not a percentage');
  return Math[round === 'up' ? 'ceil' : 'floor']((share * total) / 100);
};
