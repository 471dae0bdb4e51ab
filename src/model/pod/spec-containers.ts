import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, PodSpec} from '#src/api/pod.js';
import {isSidecar} from './restart.js';

/** The role of a container in its pod. */
export type Role = 'init' | 'sidecar' | 'regular' | 'ephemeral';
export const roles: readonly Role[] = ['init', 'sidecar', 'regular', 'ephemeral'];

/** A container of a pod's spec. */
export interface SpecContainer {
  readonly container: Frozen<AnyContainer>;
  readonly role: Role;
  readonly path: string;
}

/**
 * Yields every container of a spec, with its role and its field path in Events: init containers first, ephemeral ones
 * last.
 */
export function* specContainers(spec: Frozen<PodSpec>): Iterable<SpecContainer> {
  for (const container of spec.initContainers ?? [])
    yield {container, role: isSidecar(container) ? 'sidecar' : 'init', path: `spec.initContainers{${container.name}}`};
  for (const container of spec.containers) yield {container, role: 'regular', path: `spec.containers{${container.name}}`};
  for (const container of spec.ephemeralContainers ?? [])
    yield {container, role: 'ephemeral', path: `spec.ephemeralContainers{${container.name}}`};
}
