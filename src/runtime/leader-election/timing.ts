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

/** What is wrong with an election's settings, one plain sentence each, by the flag's name. */
export const electionErrors = ({leaseDurationMs, renewDeadlineMs, retryPeriodMs}: LeaseTiming, lock: {readonly resourceLock: string; readonly namespace: string; readonly name: string}): string[] => {
  const errors: string[] = [];
  const flag = (name: string) => `--leader-elect-${name}`;
  for (const [name, ms] of [
    ['lease-duration', leaseDurationMs],
    ['renew-deadline', renewDeadlineMs],
    ['retry-period', retryPeriodMs],
  ] as const) {
    if (!(ms > 0)) errors.push(`${flag(name)} must be greater than zero`);
  }
  if (leaseDurationMs > 0 && leaseDurationMs < 1000) errors.push(`${flag('lease-duration')} must be at least one second`);
  if (!(leaseDurationMs > renewDeadlineMs)) errors.push(`${flag('lease-duration')} must be greater than ${flag('renew-deadline')}`);
  if (!(renewDeadlineMs > retryJitter * retryPeriodMs)) errors.push(`${flag('renew-deadline')} must be greater than ${retryJitter} times ${flag('retry-period')}`);
  if (lock.resourceLock !== 'leases') errors.push(`${flag('resource-lock')} must be "leases", not "${lock.resourceLock}"`);
  if (!lock.namespace) errors.push(`${flag('resource-namespace')} must not be empty`);
  if (!lock.name) errors.push(`${flag('resource-name')} must not be empty`);
  return errors;
};

/** How long one call about the lock may take. */
export const callTimeoutMs = ({renewDeadlineMs}: LeaseTiming): number => Math.max(1000, renewDeadlineMs / 2);
