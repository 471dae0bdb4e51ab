import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, PodSpec} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import type {Role} from './rules.js';

/** A container of a pod's spec. */
export interface SpecContainer {
  readonly container: Frozen<AnyContainer>;
  readonly role: Role;
  readonly path: string;
}

/** Yields every container of a spec in the order of records, with its role and its field path in Events. */
export function* specContainers(spec: Frozen<PodSpec>): Iterable<SpecContainer> {
  for (const container of spec.initContainers ?? [])
    yield {container, role: isSidecar(container) ? 'sidecar' : 'init', path: `spec.initContainers{${container.name}}`};
  for (const container of spec.containers) yield {container, role: 'regular', path: `spec.containers{${container.name}}`};
  for (const container of spec.ephemeralContainers ?? [])
    yield {container, role: 'ephemeral', path: `spec.ephemeralContainers{${container.name}}`};
}
