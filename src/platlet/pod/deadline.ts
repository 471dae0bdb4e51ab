import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';

/** The reason and the message of a pod that was active for too long. */
export const deadlineExceeded = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const;

/** Returns when a pod that was first seen at `startTime` has been active for too long; Infinity if never. */
export const activeDeadline = ({spec}: Frozen<Pod>, startTime: number): number =>
  spec?.activeDeadlineSeconds === undefined ? Infinity : startTime + spec.activeDeadlineSeconds * 1000;
