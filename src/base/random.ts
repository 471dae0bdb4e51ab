// Randomness as a port: the system in programs, a seed in tests and virtual time. Key material never comes from here.

import {randomBytes, randomFillSync, randomUUID} from 'node:crypto';

/** The only source of randomness, apart from key material. */
export interface Random {
  /** Uniform in [0, 1). */
  float(): number;
  /** A version 4 UUID. */
  uuid(): string;
  bytes(length: number): Uint8Array;
  /** Returns a source that continues as this one would. Absent where nothing repeats. */
  copy?(): Random;
}

const pool = new Uint32Array(256);
let used = pool.length;

/** The system's random source. */
export const systemRandom: Random = {
  float() {
    if (used >= pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    return pool[used++]! / 2 ** 32;
  },
  uuid: () => randomUUID(),
  bytes: length => randomBytes(length),
};

/** Randomness that repeats exactly from its seed (mulberry32). For tests and virtual time only. */
export const seededRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const float = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const bytes = (length: number) => Buffer.from(Array.from({length}, () => Math.floor(float() * 256)));
  return {
    float,
    bytes,
    copy: () => seededRandom(state),
    uuid() {
      const raw = bytes(16);
      raw[6] = (raw[6]! & 0x0f) | 0x40;
      raw[8] = (raw[8]! & 0x3f) | 0x80;
      const hex = raw.toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
  };
};

/** `base` spread upwards by up to `factor` of itself: uniform in [base, base × (1 + factor)). */
export const jittered = (random: Random, base: number, factor: number): number => base * (1 + random.float() * factor);
