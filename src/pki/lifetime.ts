import {PkiError} from './error.js';
import {formatGoTime} from './times.js';

const minute = 60_000;
const hour = 60 * minute;

/** How far a certificate's life reaches back, so that clocks a little behind accept it at once. */
const backdate = 5 * minute;
/** Shorter lives keep their full length after issuing: backdating does not eat into them. */
const shortLifetime = 8 * hour;
/** The least a signer grants. */
const minimumTtlMs = 10 * minute;

/** The life a request gets, in ms: what it asks for in seconds, at least ten minutes, never more than the signer's maximum. */
export const grantedTtl = (requestedSeconds: number | undefined, maximumMs: number): number => {
  if (requestedSeconds === undefined) return maximumMs;
  const requested = requestedSeconds * 1000;
  if (requested > maximumMs) return maximumMs;
  return Math.max(requested, minimumTtlMs);
};

/** From when to when a certificate is valid, in ms since the epoch. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** The validity of a certificate issued now for `ttlMs` by an authority that expires at `authorityNotAfter`. Refuses when that is over. */
export const certificateValidity = (now: number, ttlMs: number, authorityNotAfter: number): Validity => {
  const notBefore = now - backdate;
  const notAfter = Math.min(authorityNotAfter, now + ttlMs - (ttlMs < shortLifetime ? 0 : backdate));
  if (notBefore >= authorityNotAfter) throw new PkiError(`the signer has expired: NotAfter=${formatGoTime(authorityNotAfter)}`);
  if (now >= authorityNotAfter) throw new PkiError(`refusing to sign a certificate that expired in the past: NotAfter=${formatGoTime(authorityNotAfter)}`);
  return {notBefore, notAfter};
};
