/** A claim on seats: an amount between the bounds, as near to the target as the others' claims allow. */
export interface Claim {
  /** At least the lower bound. */
  readonly target: number;
  readonly lower: number;
  readonly upper: number;
}

/** The seats of each claim, and the fraction of its target that a claim gets where no bound applies. */
export interface Allocation {
  readonly seats: readonly number[];
  readonly fairFraction: number;
}

/** Smaller targets count as this much, so that every claim grows with the fraction. */
const leastTarget = 0.001;
const tolerance = 1e-7;

/**
 * Divides a number of seats among claims (KEP-1040, computing the current limits): each gets the same fraction of its
 * target, unless that is beyond one of its bounds. Returns undefined where the bounds do not allow the sum.
 */
export const allocate = (sum: number, claims: readonly Claim[]): Allocation | undefined => {
  const targets = claims.map(({target}) => Math.max(target, leastTarget));
  const seatsAt = (fraction: number): number[] =>
    claims.map(({lower, upper}, index) => Math.max(lower, Math.min(upper, fraction * targets[index]!)));
  const total = (seats: readonly number[]): number => seats.reduce((all, each) => all + each, 0);
  const [least, most] = [total(claims.map(({lower}) => lower)), total(claims.map(({upper}) => upper))];
  if (least - sum > tolerance || sum - most > tolerance) return undefined;
  if (sum === 0) return {seats: claims.map(() => 0), fairFraction: 0};
  // The sum grows with the fraction, linearly between those at which a claim reaches one of its bounds.
  const corners = claims
    .flatMap(({lower, upper}, index) => [lower / targets[index]!, upper / targets[index]!])
    .sort((one, other) => one - other);
  let low = corners[0] ?? 0;
  for (const corner of corners) {
    if (total(seatsAt(corner)) >= sum - tolerance) {
      const from = total(seatsAt(low));
      const to = total(seatsAt(corner));
      const fairFraction = to - from > tolerance ? low + ((sum - from) / (to - from)) * (corner - low) : corner;
      return {seats: seatsAt(fairFraction), fairFraction};
    }
    low = corner;
  }
  return {seats: seatsAt(low), fairFraction: low};
};
