import {isIP} from 'node:net';
import {parseRange, rangeSize} from '#src/base/ip-address.js';

/** Validates single-stack or dual-stack ranges: at most two, of different families. */
export const validateDualStack = (flag: string, cidrs: readonly string[]): string | undefined => {
  if (cidrs.length > 2) return `--${flag} must not hold more than two ranges`;
  const [first, second] = cidrs.map(cidr => isIP(cidr.split('/')[0]!));
  return second !== undefined && first === second ? `--${flag} must hold ranges of different IP families` : undefined;
};

const minServiceAddresses = 8n;

/** Validates that service IP ranges are large enough. */
export const validateServiceRange = (flag: string, cidrs: readonly string[]): string | undefined => {
  const small = cidrs.find(cidr => rangeSize(parseRange(cidr)!) < minServiceAddresses);
  return small && `--${flag} ${small} must hold at least ${minServiceAddresses} IP addresses`;
};

interface LeaseTimes {
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
}

const jitter = 1.2;

/** Validates lease duration > renew deadline > 1.2 × retry period > 0. */
export const validateLeaseTimes = (prefix: string, {leaseDuration, renewDeadline, retryPeriod}: LeaseTimes): string | undefined => {
  if (leaseDuration <= renewDeadline) return `--${prefix}-lease-duration must be greater than --${prefix}-renew-deadline`;
  if (renewDeadline <= jitter * retryPeriod)
    return `--${prefix}-renew-deadline must be greater than ${jitter} times --${prefix}-retry-period`;
  return undefined;
};
