import {parseDuration} from '#src/api/duration.js';
import {badRequest, timeout} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {RequestInfo} from './request-info.js';
import {isLongRunning} from './request-info.js';

/** How long a request may take, in ms: what the server allows, or less when the query's `timeout` says so. Undefined for long-running ones. */
export const deadlineOf = (info: RequestInfo, allowedMs: number): number | undefined => {
  if (isLongRunning(info)) return undefined;
  return Math.min(requested(info, allowedMs), listing(info));
};

/** What `timeoutSeconds` leaves a list; nobody else is bound by it here. */
const listing = ({verb, query}: RequestInfo): number => {
  const seconds = verb === 'list' ? Number(query.get('timeoutSeconds') ?? 0) : 0;
  return seconds > 0 ? seconds * 1000 : Infinity;
};

const requested = (info: RequestInfo, allowedMs: number): number => {
  const asked = info.query.get('timeout');
  if (asked === null || asked === '') return allowedMs;
  const ms = parseDuration(asked);
  if (ms === undefined) throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(asked)}`);
  if (ms < 0) throw badRequest('invalid timeout specified in the request URL - timeout must be non-negative');
  return ms === 0 ? allowedMs : Math.min(ms, allowedMs);
};

/** The answer of `work`, or 504 once the time is up. What the work does then is nobody's business any more. */
export const within = async <T>(clock: Clock, ms: number | undefined, work: Promise<T>): Promise<T> => {
  if (ms === undefined) return work;
  let timer: Disposable | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = clock.schedule(ms, () => reject(timeout('request did not complete within the allotted timeout')));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer?.[Symbol.dispose]();
  }
};
