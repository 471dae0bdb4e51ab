import type {Frozen} from '#src/api/key.js';
import {wireTime} from '#src/api/time.js';
import type {JobCondition} from './kinds.js';

/** Why a job ends; used for the interim and for the final condition. */
export interface JobEnd {
  readonly ends: 'Failed' | 'Complete';
  readonly reason: string;
  readonly message: string;
}

const interim = {Failed: 'FailureTarget', Complete: 'SuccessCriteriaMet'} as const;

export const interimType = ({ends}: JobEnd): string => interim[ends];

export const failedFor = (reason: string, message: string): JobEnd => ({ends: 'Failed', reason, message});
export const completeFor = (reason: string, message: string): JobEnd => ({ends: 'Complete', reason, message});

export const condition = (
  type: string,
  status: 'True' | 'False',
  {reason, message}: Pick<JobEnd, 'reason' | 'message'>,
  now: number,
): JobCondition => {
  const time = wireTime(now);
  return {type, status, lastProbeTime: time, lastTransitionTime: time, reason, message};
};

/**
 * Returns the conditions with one set; undefined if it is set already. A condition that was never true is not set to
 * false.
 */
export const withCondition = (list: readonly Frozen<JobCondition>[], next: JobCondition): Frozen<JobCondition>[] | undefined => {
  const at = list.findIndex(({type}) => type === next.type);
  if (at < 0) return next.status === 'False' ? undefined : [...list, next];
  const old = list[at]!;
  if (old.status === next.status && (old.reason ?? '') === next.reason && (old.message ?? '') === next.message) return undefined;
  return list.with(at, next);
};
