import type {EventFault, WriteFault} from './schedule.js';

/** How long caches and events are delayed: longer than any batch period. */
export const heldMs = 3_000;
/** How long a webhook is away. */
export const awayMs = 10_000;

/** What a fault does, for the trace. */
export const faultWords: Readonly<Record<WriteFault | EventFault, string>> = {
  'stopped before': 'the operator is stopped before this write',
  'stopped after': 'the operator is stopped after this write, before its answer',
  'answer lost': `the write is made but its answer is lost, and caches stay as they are for ${heldMs / 1000} s`,
  'stale caches': `all objects are touched, and then caches stay as they are for ${heldMs / 1000} s`,
  'changed meanwhile': 'another client changes the object just before this write',
  'another leads': 'the lease is lost: another replica leads and works before this write of the former leader arrives, its last',
  'webhook away': `an admission webhook cannot be called: writes of this resource are refused for ${awayMs / 1000} s`,
  'user first': 'the user does not wait: the next act comes before this write',
  'down until next act': 'the operator is stopped before this write, and the user does not wait: it begins again after the next act',
  missed: 'the next event is lost, and its watch ends',
  delayed: `the next event, and what follows it in its watch, comes ${heldMs / 1000} s late`,
  doubled: 'the next event comes twice',
  'others stale': `the caches of all other kinds stay as they are for ${heldMs / 1000} s`,
};
