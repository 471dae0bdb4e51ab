import type {AnyContainer, PodSpec} from '#src/api/pod.js';

/** Returns the init, regular and ephemeral containers of a pod. */
export const containersOf = ({initContainers = [], containers, ephemeralContainers = []}: Readonly<PodSpec>): AnyContainer[] => [
  ...initContainers,
  ...(containers ?? []),
  ...ephemeralContainers,
];
