import type {Random} from '#src/base/random.js';

/** The alphabet of generated names and hashes: no vowels, no look-alikes. */
export const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns a random name suffix of `length` characters. */
export const nameSuffix = (random: Random, length: number): string =>
  Array.from({length}, () => suffixAlphabet[Math.floor(random.float() * suffixAlphabet.length)]).join('');
