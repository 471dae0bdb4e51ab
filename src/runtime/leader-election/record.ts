import {parseTime, wireMicroTime} from '#src/api/time.js';
import type {Lease} from '#src/api/types.js';

/** Who leads, as a Lease's spec tells it. Times are wall time, for people to read: nothing is ever decided by them. */
export interface LeaderRecord {
  /** Empty: nobody. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquiredMs: number;
  readonly renewedMs: number;
  readonly transitions: number;
}

/** The fields of a Lease's spec that an elector writes. */
export const specOf = ({holder, durationSeconds, acquiredMs, renewedMs, transitions}: LeaderRecord): NonNullable<Lease['spec']> => ({
  holderIdentity: holder,
  leaseDurationSeconds: durationSeconds,
  acquireTime: wireMicroTime(acquiredMs),
  renewTime: wireMicroTime(renewedMs),
  leaseTransitions: transitions,
});

export const recordOf = ({spec = {}}: Lease): LeaderRecord => ({
  holder: spec.holderIdentity ?? '',
  durationSeconds: spec.leaseDurationSeconds ?? 0,
  acquiredMs: parseTime(spec.acquireTime) ?? 0,
  renewedMs: parseTime(spec.renewTime) ?? 0,
  transitions: spec.leaseTransitions ?? 0,
});

/** Whether two observations show the same state of the lock: any difference at all is a sign of life. */
export const isSameRecord = (a: LeaderRecord | undefined, b: LeaderRecord): boolean => a !== undefined && JSON.stringify(a) === JSON.stringify(b);
