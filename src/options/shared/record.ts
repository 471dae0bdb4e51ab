import {parseQuantity} from '#src/api/quantity.js';

/** The bytes of a flight recorder unless set. */
export const defaultRecordSize = '64Mi';

const [least, most] = [1024 ** 2, 1024 ** 4];

/** Returns the bytes that a size such as `64Mi` stands for; undefined if it is none, or not from 1Mi to 1Ti. */
export const recordBytes = (size: string): number | undefined => {
  try {
    const {unscaled, exponent} = parseQuantity(size);
    const bytes = Math.floor(Number(unscaled) * 10 ** exponent);
    return bytes >= least && bytes <= most ? bytes : undefined;
  } catch {
    return undefined;
  }
};
