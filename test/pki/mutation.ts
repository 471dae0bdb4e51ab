// Damage to bytes for fuzz tests. FUZZ_ROUNDS multiplies their rounds, FUZZ_SEED chooses others.
import type {Random} from '#src/base/random.js';

export const fuzzSeed = Number(process.env['FUZZ_SEED'] ?? 7);

/** Returns the number of rounds of a test, which is `usual` unless FUZZ_ROUNDS multiplies it. */
export const fuzzRounds = (usual: number): number => usual * Number(process.env['FUZZ_ROUNDS'] ?? 1);

export const below = (random: Random, limit: number) => Math.floor(random.float() * limit);

/** A few bytes changed, removed, inserted or copied elsewhere. */
export const mutated = (random: Random, original: Buffer): Buffer => {
  let bytes = Buffer.from(original);
  for (let left = 1 + below(random, 4); left > 0; left--) {
    const at = below(random, bytes.length + 1);
    const piece = bytes.subarray(at, at + below(random, 8));
    const acts = [
      () => (bytes[at] = below(random, 256)),
      () => (bytes[at] = (bytes[at] ?? 0) ^ (1 << below(random, 8))),
      () => (bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + piece.length)])),
      () => (bytes = Buffer.concat([bytes.subarray(0, at), random.bytes(below(random, 4)), bytes.subarray(at)])),
      () => (bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)])),
      () => (bytes = bytes.subarray(0, at)),
    ];
    acts[below(random, acts.length)]!();
  }
  return bytes;
};
