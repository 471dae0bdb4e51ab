import {parseTime, wireMicroTime} from '#src/api/time.js';
import type {Lease} from '#src/api/types.js';

/** The holder and times in a Lease's spec. Times are wall time and informational: no decision depends on them. */
export interface LeaderRecord {
  /** Empty if there is none. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquiredMs: number;
  readonly renewedMs: number;
  readonly transitions: number;
  /** The replica that is to hold the lease next; empty if there is none. Written by the server that elects. */
  readonly preferred?: string;
}

/** The fields of a Lease's spec that the elector writes. */
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
  ...(spec.preferredHolder ? {preferred: spec.preferredHolder} : {}),
});

/** Whether two observations show the same state. Any difference shows that the holder is alive. */
export const isSameRecord = (a: LeaderRecord | undefined, b: LeaderRecord): boolean =>
  a !== undefined && JSON.stringify(a) === JSON.stringify(b);
