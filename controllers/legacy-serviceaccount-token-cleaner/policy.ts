import {isOf} from '#controllers/shared/token-secrets.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {parseTime} from '#src/api/time.js';
import type {Secret, ServiceAccount} from '#src/api/types.js';

const dayMs = 86_400_000;
const day = /^\d{4}-\d{2}-\d{2}$/;

/** Returns the day of a time, in UTC, as labels have it. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Returns the beginning of a day in ms since the epoch; undefined for an invalid one. */
const startOf = (text: string | undefined): number | undefined => (text && day.test(text) ? parseTime(`${text}T00:00:00Z`) : undefined);

/** Whether use has been tracked for a whole period: earlier use is unknown. */
export const isTrackedLongEnough = (since: string | undefined, periodMs: number, now: number): boolean => {
  const start = startOf(since);
  return start !== undefined && start + dayMs + periodMs <= now;
};

export type CleanupAction = 'keep' | 'mark' | 'delete';

/**
 * Returns what to do with a token secret. `account` is the account that it names; `isMounted` says whether a pod uses
 * it.
 */
export const cleanupActionFor = (
  secret: Frozen<Secret>,
  {
    account,
    isMounted,
    periodMs,
    now,
    naming,
  }: {account: Frozen<ServiceAccount> | undefined; isMounted: () => boolean; periodMs: number; now: number; naming: Naming},
): CleanupAction => {
  const {name, creationTimestamp, deletionTimestamp, labels = {}} = secret.metadata ?? {};
  const limit = now - periodMs;
  const created = parseTime(creationTimestamp);
  if (deletionTimestamp || created === undefined || created >= limit) return 'keep';
  if (!account || !isOf(secret, account, naming) || !account.secrets?.some(mentioned => mentioned.name === name)) return 'keep';
  const used = labels[naming.key('legacy-token-last-used')];
  if (used !== undefined && (startOf(used) === undefined || used >= dayOf(limit))) return 'keep';
  if (isMounted()) return 'keep';
  const invalid = labels[naming.key('legacy-token-invalid-since')];
  if (invalid === undefined || startOf(invalid) === undefined) return 'mark';
  return invalid >= dayOf(limit) ? 'keep' : 'delete';
};
