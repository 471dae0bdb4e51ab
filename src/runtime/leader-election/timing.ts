import {validateLeaseTimes} from '#src/options/rules.js';

/** How long a lead lasts and how it is kept. */
export interface LeaseTiming {
  /** How long others wait after the last sign of life of a leader. */
  readonly leaseDurationMs: number;
  /** How long a leader tries to renew before it gives up. */
  readonly renewDeadlineMs: number;
  /** The wait between two tries. */
  readonly retryPeriodMs: number;
}

/** A wait before the next try to acquire is up to this share of the period longer. */
export const retryJitter = 1.2;

/** What is wrong with an election, in the words of the flags that set it. */
export const validateElection = ({leaseDurationMs, renewDeadlineMs, retryPeriodMs}: LeaseTiming, lock: {readonly namespace: string; readonly name: string}, identity: string): string | undefined => {
  if (!identity) return 'the identity of an elector must not be empty';
  if (!lock.namespace || !lock.name) return 'the lock of an election must have a namespace and a name';
  if (renewDeadlineMs <= 0 || retryPeriodMs <= 0) return 'the times of an election must be greater than 0';
  // A Lease holds whole seconds: less would be written as no time at all.
  if (leaseDurationMs < 1000) return '--leader-elect-lease-duration must be at least one second';
  return validateLeaseTimes('leader-elect', {leaseDuration: leaseDurationMs, renewDeadline: renewDeadlineMs, retryPeriod: retryPeriodMs});
};

/** How long one call about the lock may take. */
export const callTimeoutMs = ({renewDeadlineMs}: LeaseTiming): number => Math.max(1000, renewDeadlineMs / 2);
