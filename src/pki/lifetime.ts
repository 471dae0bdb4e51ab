import {PkiError} from '#src/pki/encoding/error.js';
import {formatGoTime} from '#src/pki/encoding/times.js';

const minute = 60_000;
const hour = 60 * minute;

/** Certificates are backdated, so that clients with slow clocks accept them at once. */
export const backdate = 5 * minute;
/** Shorter lifetimes are not reduced by backdating. */
const shortLifetime = 8 * hour;
/** The shortest lifetime that a signer grants. */
const minimumTtlMs = 10 * minute;

/**
 * Returns the lifetime of a certificate in ms: the requested one, at least ten minutes and at most the signer's
 * maximum.
 */
export const grantedTtl = (requestedSeconds: number | undefined, maximumMs: number): number => {
  if (requestedSeconds === undefined) return maximumMs;
  const requested = requestedSeconds * 1000;
  if (requested > maximumMs) return maximumMs;
  return Math.max(requested, minimumTtlMs);
};

/** The validity period of a certificate, in ms since the epoch. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/**
 * Returns the validity of a certificate issued now, limited by the authority's own. Throws if the authority has
 * expired.
 */
export const certificateValidity = (now: number, ttlMs: number, authorityNotAfter: number): Validity => {
  const notBefore = now - backdate;
  const notAfter = Math.min(authorityNotAfter, now + ttlMs - (ttlMs < shortLifetime ? 0 : backdate));
  if (notBefore >= authorityNotAfter) throw new PkiError(`the signer has expired: NotAfter=${formatGoTime(authorityNotAfter)}`);
  if (now >= authorityNotAfter)
    throw new PkiError(`refusing to sign a certificate that expired in the past: NotAfter=${formatGoTime(authorityNotAfter)}`);
  return {notBefore, notAfter};
};
