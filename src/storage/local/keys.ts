/** The longest key in bytes. */
const longestKey = 1900;

const tooLong = (key: string): boolean => key.length > longestKey / 3 && Buffer.byteLength(key) > longestKey;

/** A lone surrogate has no encoding of its own: keys that differ only in such would become equal. */
const loneSurrogate = /\p{Surrogate}/u;

/** Returns whether a store can hold the key. */
export const holdable = (key: string): boolean => key !== '' && !tooLong(key) && !key.includes('\0') && !loneSurrogate.test(key);

/** Throws for a key that a store cannot hold. */
export const checkKey = (key: string): void => {
  if (!holdable(key))
    throw new TypeError(
      tooLong(key) ? `a key must not exceed ${longestKey} bytes` : 'a key must not be empty, nor hold NUL or half of a surrogate pair',
    );
};

/** Surrogates stand for code points above all others, whose UTF-8 sorts last; UTF-16 puts them before U+E000. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** The order of keys: that of their UTF-8 bytes. */
export const compareKeys = (a: string, b: string): number => {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
};

/** Returns whether `key` lies in [start, end). */
export const isKeyInRange = (key: string, start: string, end: string): boolean => compareKeys(key, start) >= 0 && compareKeys(key, end) < 0;

/** Returns the first index of sorted keys at which `key` could be inserted. */
export const lowerBound = (length: number, keyAt: (index: number) => string, key: string): number => {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys(keyAt(middle), key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};
