/**
 * The delay in ms before attempt `attempt` (0 for the first retry): `baseMs` doubled each time, never above `capMs`.
 */
export const exponential =
  (baseMs: number, capMs: number, factor = 2) =>
  (attempt: number): number =>
    Math.min(capMs, baseMs * factor ** attempt);
