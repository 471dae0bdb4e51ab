import type {AnyContainer, PodSpec} from '#src/api/pod.js';

/** The containers of a pod: those that come first, those that stay, those that were added. */
export const containersOf = ({initContainers = [], containers, ephemeralContainers = []}: Readonly<PodSpec>): AnyContainer[] => [...initContainers, ...(containers ?? []), ...ephemeralContainers];
