// Volumes in memory on a machine with swap.

import type {Machine} from '#src/platlet/node/machine.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';

type SwapFacts = Pick<Machine, 'kernelVersion' | 'swapBytes' | 'isInUserNamespace'>;

/** Whether the kernel can exclude a tmpfs from swap (`noswap`); it refuses that in a user namespace. */
const canExclude = ({kernelVersion, isInUserNamespace}: SwapFacts): boolean => {
  if (isInUserNamespace) return false;
  const [major = 0, minor = 0] = kernelVersion.split('.').map(part => parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 4);
};

/** Whether tmpfs volumes are to be excluded from swap, and can be. */
export const excludesSwapOn = (machine: SwapFacts): boolean => machine.swapBytes > 0 && canExclude(machine);

/** Records an event if volumes in memory may be written to a disk. */
export const warnOfSwap = (machine: SwapFacts, events: EventRecorder, node: Regarding): void => {
  if (machine.swapBytes === 0 || canExclude(machine)) return;
  events.warning(
    node,
    'PossibleMemoryBackedVolumesOnDisk',
    'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.',
  );
};
