import type {AnyContainer, PodSpec} from '#src/api/pod.js';

/** A container with its path in the spec. */
export interface PlacedContainer {
  readonly container: AnyContainer;
  readonly path: string;
  readonly sort: 'init' | 'regular' | 'ephemeral';
}

/** Yields every container of a spec: init, main and ephemeral. */
export function* everyContainer(spec: Readonly<PodSpec>, path = 'spec'): Iterable<PlacedContainer> {
  for (const [i, container] of (spec.initContainers ?? []).entries()) yield {container, path: `${path}.initContainers[${i}]`, sort: 'init'};
  for (const [i, container] of (spec.containers ?? []).entries()) yield {container, path: `${path}.containers[${i}]`, sort: 'regular'};
  for (const [i, container] of (spec.ephemeralContainers ?? []).entries())
    yield {container, path: `${path}.ephemeralContainers[${i}]`, sort: 'ephemeral'};
}
