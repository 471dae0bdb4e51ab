/** The relative tolerance within which a quotient counts as whole. */
const epsilon = 1e-9;

/** Reports whether a quotient is whole up to rounding: 0.3 is three times 0.1. */
export const isNearlyWhole = (value: number): boolean => {
  if (Number.isSafeInteger(value)) return true;
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  if (value < 0) return false;
  const whole = Math.trunc(value);
  return whole !== 0 && Math.abs(value - whole) / (value + whole) < epsilon;
};

/** Reports whether a number is treated as an integer. */
export const isWhole = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** 63;
