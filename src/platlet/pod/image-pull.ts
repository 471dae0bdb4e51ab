// Decisions about the image of a container, and the messages of its events and waiting states. Pure.

import {formatDuration} from '#src/api/duration.js';

const quoted = (image: string): string => JSON.stringify(image);

/** Returns the decision about an image: use the present one, pull it, or fail because the policy is Never. */
export const pullDecision = (policy: string, isPresent: boolean): 'use' | 'pull' | 'refuse' => {
  if (isPresent && policy !== 'Always') return 'use';
  return policy === 'Never' ? 'refuse' : 'pull';
};

export const imageTexts = {
  invalid: (image: string): string =>
    `Failed to apply default image tag ${quoted(image)}: couldn't parse image name ${quoted(image)}: invalid reference format`,
  /** `isVerified`: whether the access of the pod to the image was verified. */
  present: (image: string, isVerified: boolean): string =>
    `Container image ${quoted(image)} already present on machine${isVerified ? ' and can be accessed by the pod' : ''}`,
  absent: (image: string): string => `Container image ${quoted(image)} is not present with pull policy of Never`,
  pulling: (image: string): string => `Pulling image ${quoted(image)}`,
  pulled: (image: string, {ms, withWaitMs, bytes}: {readonly ms: number; readonly withWaitMs: number; readonly bytes: number}): string =>
    `Successfully pulled image ${quoted(image)} in ${durationText(ms)} (${durationText(withWaitMs)} including waiting). Image size: ${bytes} bytes.`,
  failed: (image: string, error: string): string => `Failed to pull image ${quoted(image)}: ${error}`,
  backOff: (image: string): string => `Back-off pulling image ${quoted(image)}`,
  /** `last`: the reason and the message of the last failure. */
  backingOff: (image: string, last: string): string => `${imageTexts.backOff(image)}: ${last}`,
} as const;

const durationText = (ms: number): string => formatDuration(Math.trunc(ms));
