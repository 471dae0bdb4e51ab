import type {Random} from '#src/base/random.js';
import {pemBlocks, toPem} from '#src/pki/encoding/pem.js';

/**
 * Returns the certificates of trust bundles without duplicates. Their order is random, so that nobody relies on it, but
 * stays the same while the result is cached.
 */
export const trustAnchorsOf = (bundles: readonly string[], random: Random): string => {
  const found = new Map<string, Buffer>();
  for (const bundle of bundles) for (const {bytes} of pemBlocks(bundle)) found.set(bytes.toString('latin1'), bytes);
  const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => ({bytes, at: random.float()}));
  return sorted
    .sort((a, b) => a.at - b.at)
    .map(({bytes}) => toPem('CERTIFICATE', bytes))
    .join('');
};
