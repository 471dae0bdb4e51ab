import {validateLeaseTimes} from '#src/options/rules.js';

/** The durations of a leader election. */
export interface LeaseTiming {
  /** How long others wait after the last observed renewal of a leader. */
  readonly leaseDurationMs: number;
  /** How long a leader tries to renew before it gives up. */
  readonly renewDeadlineMs: number;
  /** The wait between two tries. */
  readonly retryPeriodMs: number;
}

/** The wait before the next try to acquire is jittered by up to this factor of the period. */
export const retryJitter = 1.2;

/** Returns the first error of an election's settings, naming the flag; undefined if they are valid. */
export const validateElection = (
  {leaseDurationMs, renewDeadlineMs, retryPeriodMs}: LeaseTiming,
  lock: {readonly namespace: string; readonly name: string},
  identity: string,
): string | undefined => {
  if (!identity) return 'the identity of an elector must not be empty';
  if (!lock.namespace || !lock.name) return 'the lock of an election must have a namespace and a name';
  if (renewDeadlineMs <= 0 || retryPeriodMs <= 0) return 'the times of an election must be greater than 0';
  // A Lease holds whole seconds: less would be written as 0.
  if (leaseDurationMs < 1000) return '--leader-elect-lease-duration must be at least one second';
  return validateLeaseTimes('leader-elect', {leaseDuration: leaseDurationMs, renewDeadline: renewDeadlineMs, retryPeriod: retryPeriodMs});
};

/** The timeout of one call about the lock. */
export const callTimeoutMs = ({renewDeadlineMs}: LeaseTiming): number => Math.max(1000, renewDeadlineMs / 2);
