/** The notation of a quantity, preserved when it is formatted. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** An exact fixed-point number: `unscaled` times ten to the `exponent`, which is never below -9 for a parsed one. */
export interface Quantity {
  readonly unscaled: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat;
  /** The parsed text, if it is preserved although not the shortest form. */
  readonly text?: string;
}

/** The error of a text that is not a quantity. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const formatWrong = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const suffixWrong = "unable to parse quantity's suffix";

const decimalSuffixes = new Map<string, number>([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const binarySuffixes = new Map<string, number>([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);
const suffixOf = (table: ReadonlyMap<string, number>, exponent: number): string =>
  [...table].find(([, value]) => value === exponent)?.[0] ?? '';

const mostBinary = 2n ** 63n - 1n;
/** Longer texts are rejected: their arithmetic would be too expensive. */
const mostCharacters = 512;
const mostExponent = 4096;

const ten = (power: number): bigint => 10n ** BigInt(power);

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

const interpreted = (suffix: string): Suffix => {
  const decimal = decimalSuffixes.get(suffix);
  if (decimal !== undefined) return {base: 10, exponent: decimal, format: 'DecimalSI'};
  const binary = binarySuffixes.get(suffix);
  if (binary !== undefined) return {base: 2, exponent: binary, format: 'BinarySI'};
  const exponent = /^[eE]([+-]?[0-9]+)$/.exec(suffix)?.[1];
  if (exponent === undefined || Math.abs(Number(exponent)) > mostExponent) throw new QuantityError(suffixWrong);
  return {base: 10, exponent: Number(exponent), format: 'DecimalExponent'};
};

/** Divides by ten to the `places`, away from zero where it does not divide evenly. */
const shiftedUp = (value: bigint, places: number): bigint => {
  if (places <= 0) return value * ten(-places);
  const divisor = ten(places);
  const quotient = value / divisor;
  if (quotient * divisor === value) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
};

/**
 * Whether the original keeps the text as it is: its own test for "already in canonical form", which lets some other
 * forms through.
 */
const keepsText = (digits: string, fraction: number, {format, exponent}: Suffix): boolean => {
  const value = BigInt(digits);
  const scale = exponent - fraction;
  if (format === 'BinarySI') {
    const precise = fraction === 0 && 14 - digits.length - Math.trunc((exponent * 3) / 10) >= 0;
    return precise && (value & 7n) !== 0n && value << BigInt(exponent) <= mostBinary;
  }
  return 18 - digits.length >= 0 && scale >= -9 && scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
};

const bounded = (unscaled: bigint, exponent: number, {format}: Suffix): Quantity => {
  const [value, scale] = exponent < -9 ? [shiftedUp(unscaled, -9 - exponent), -9] : [unscaled, exponent];
  if (format !== 'BinarySI') return {unscaled: value, exponent: scale, format};
  const limit = mostBinary * ten(-scale);
  if (value > limit) return {unscaled: mostBinary, exponent: 0, format};
  if (value < -limit) return {unscaled: -mostBinary, exponent: 0, format};
  return {unscaled: value, exponent: scale, format};
};

/**
 * Reads a quantity: digits with an optional fraction, then a decimal suffix, a binary suffix or an exponent. Finer than
 * 1n is rounded away from zero.
 */
export const parseQuantity = (text: string): Quantity => {
  const found = text.length <= mostCharacters ? /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/.exec(text) : null;
  if (!found || text === '') throw new QuantityError(formatWrong);
  const [, sign, whole = '', fraction = '', suffixText = ''] = found;
  const numerator = whole.replace(/^0+/, '') || '0';
  const suffix = interpreted(suffixText);
  const digits = numerator + fraction;
  if (BigInt(digits) !== 0n && keepsText(digits, fraction.length, suffix)) {
    const unscaled = BigInt(digits) * (suffix.base === 2 ? 2n ** BigInt(suffix.exponent) : 1n);
    const exponent = (suffix.base === 10 ? suffix.exponent : 0) - fraction.length;
    return {unscaled: sign === '-' ? -unscaled : unscaled, exponent, format: suffix.format, text};
  }
  const magnitude = BigInt(digits) * (suffix.base === 2 ? 2n ** BigInt(suffix.exponent) : 1n);
  const signed = sign === '-' ? -magnitude : magnitude;
  return bounded(signed, (suffix.base === 10 ? suffix.exponent : 0) - fraction.length, suffix);
};

const isWhole = ({unscaled, exponent}: Quantity): boolean => exponent >= 0 || unscaled % ten(-exponent) === 0n;

const factored = (value: bigint, factor: bigint): readonly [value: bigint, times: number] => {
  let rest = value;
  let times = 0;
  while (rest !== 0n && rest % factor === 0n) {
    rest /= factor;
    times += 1;
  }
  return [rest, times];
};

const decimalText = ({unscaled, exponent}: Quantity, format: QuantityFormat): string => {
  let [amount, times] = factored(unscaled, 10n);
  let power = exponent + times;
  const wanted = format === 'DecimalSI' ? Math.min(Math.floor(power / 3) * 3, 18) : Math.floor(power / 3) * 3;
  amount *= ten(power - wanted);
  power = wanted;
  if (format === 'DecimalSI') return `${amount}${suffixOf(decimalSuffixes, power)}`;
  return power === 0 ? `${amount}` : `${amount}e${power}`;
};

/** The canonical form: nothing lost, no fraction, the largest suffix of the quantity's own notation. */
export const formatQuantity = (of: Quantity): string => {
  if (of.text !== undefined) return of.text;
  if (of.unscaled === 0n) return '0';
  if (of.format !== 'BinarySI') return decimalText(of, of.format);
  const small =
    compareQuantities(of, {unscaled: -1024n, exponent: 0, format: 'DecimalSI'}) > 0 &&
    compareQuantities(of, {unscaled: 1024n, exponent: 0, format: 'DecimalSI'}) < 0;
  if (small || !isWhole(of)) return decimalText(of, 'DecimalSI');
  const value = quantityValue(of);
  const [, times] = factored(value, 1024n);
  const power = Math.min(times, 6);
  return `${value / 1024n ** BigInt(power)}${power === 0 ? '' : suffixOf(binarySuffixes, power * 10)}`;
};

/** The canonical text of a quantity's text. Throws `QuantityError`. */
export const canonicalQuantity = (text: string): string => formatQuantity(parseQuantity(text));

const aligned = (a: Quantity, b: Quantity): readonly [a: bigint, b: bigint, exponent: number] => {
  const exponent = Math.min(a.exponent, b.exponent);
  return [a.unscaled * ten(a.exponent - exponent), b.unscaled * ten(b.exponent - exponent), exponent];
};

/** Returns a number below, equal to or above zero as `a` is less than, equal to or greater than `b`. */
export const compareQuantities = (a: Quantity, b: Quantity): number => {
  const [left, right] = aligned(a, b);
  return left < right ? -1 : left > right ? 1 : 0;
};

/** The exact sum, in the notation of `a`, or of `b` where `a` is zero. */
export const addQuantities = (a: Quantity, b: Quantity): Quantity => {
  const [left, right, exponent] = aligned(a, b);
  return {unscaled: left + right, exponent, format: a.unscaled === 0n ? b.format : a.format};
};

/** The exact difference, in the notation of `a`, or of `b` where `a` is zero. */
export const subtractQuantities = (a: Quantity, b: Quantity): Quantity => addQuantities(a, {...b, unscaled: -b.unscaled});

/** A whole number as a quantity. */
export const quantityOf = (value: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity => ({
  unscaled: BigInt(value),
  exponent: 0,
  format,
});

/** A whole number of thousandths as a quantity. */
export const milliQuantity = (thousandths: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity => ({
  unscaled: BigInt(thousandths),
  exponent: -3,
  format,
});

export const zeroQuantity: Quantity = quantityOf(0);

/** The amount as a whole number, away from zero where it is not one. */
export const quantityValue = ({unscaled, exponent}: Quantity): bigint => shiftedUp(unscaled, -exponent);

/** The amount in whole thousandths, away from zero where it is not one. */
export const quantityMilliValue = ({unscaled, exponent}: Quantity): bigint => shiftedUp(unscaled, -exponent - 3);

/** The nearest floating-point number, for metrics and shares. */
export const quantityNumber = ({unscaled, exponent}: Quantity): number => Number(`${unscaled}e${exponent}`);
