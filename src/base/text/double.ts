/** Doubles with more digits before the point are formatted with an exponent. */
const largestPlain = 6;

/** Formats a double as upstream does: the shortest form, with an exponent below -4 and above 5. */
export const formatDouble = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [digits = '', power = ''] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < largestPlain) return formatDoubleInFull(value);
  return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
};

/** Formats a double without an exponent. */
const formatDoubleInFull = (value: number): string => {
  const [digits = '', power] = value.toString().split('e');
  if (power === undefined) return digits;
  const [sign, unsigned] = digits.startsWith('-') ? ['-', digits.slice(1)] : ['', digits];
  const [whole = '', fraction = ''] = unsigned.split('.');
  const exponent = Number(power);
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - whole.length)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(exponent, '0')}`;
};

/** The most digits that tell any two numbers of single precision apart. */
const singleDigits = 9;

/** Formats the number of single precision that is closest to a double. */
export const formatSingle = (value: number): string => {
  const single = Math.fround(value);
  if (single === 0 || !Number.isFinite(single)) return formatDouble(single);
  for (let digits = 1; digits < singleDigits; digits++) {
    const short = Number(single.toPrecision(digits));
    if (Math.fround(short) === single) return formatDouble(short);
  }
  return formatDouble(Number(single.toPrecision(singleDigits)));
};
