import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';

/** The status reason and message of a pod that exceeded its active deadline. */
export const deadlineExceeded = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const;

/** Returns when the active deadline of a pod that started at `startTime` expires; Infinity if never. */
export const activeDeadline = ({spec}: Frozen<Pod>, startTime: number): number =>
  spec?.activeDeadlineSeconds === undefined ? Infinity : startTime + spec.activeDeadlineSeconds * 1000;
