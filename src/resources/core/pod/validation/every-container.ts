import type {AnyContainer, PodSpec} from '#src/api/pod.js';

/** A container with its path in the spec. */
export interface PlacedContainer {
  readonly container: AnyContainer;
  readonly path: string;
  readonly sort: 'init' | 'regular' | 'ephemeral';
}

/** Returns every container of a spec: init, main and ephemeral. A list, since each rule of pods goes through it. */
export const everyContainer = (spec: Readonly<PodSpec>, path = 'spec'): readonly PlacedContainer[] => {
  const all: PlacedContainer[] = [];
  const {initContainers, containers, ephemeralContainers} = spec;
  if (initContainers) place(all, initContainers, `${path}.initContainers`, 'init');
  if (containers) place(all, containers, `${path}.containers`, 'regular');
  if (ephemeralContainers) place(all, ephemeralContainers, `${path}.ephemeralContainers`, 'ephemeral');
  return all;
};

const place = (all: PlacedContainer[], containers: readonly AnyContainer[], path: string, sort: PlacedContainer['sort']): void => {
  for (let at = 0; at < containers.length; at++) all.push({container: containers[at]!, path: `${path}[${at}]`, sort});
};
