import type {Frozen} from '#src/api/key.js';
import type {Container, PodSpec} from '#src/api/pod.js';

/** Returns all containers of a pod, as far as they can mount volumes. */
export const specContainersOf = (spec: Frozen<PodSpec> | undefined): readonly Frozen<Container>[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
  ...((spec?.ephemeralContainers ?? []) as readonly Frozen<Container>[]),
];
