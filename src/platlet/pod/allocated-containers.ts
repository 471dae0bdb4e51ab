// The containers of pods as they follow each other, for what they get at admission. Pure.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';

/** Returns the containers that get resources at admission, in the order in which they start. */
export const allocatedContainers = ({spec}: Frozen<Pod>): readonly Frozen<AnyContainer>[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

/** Whether a container ends before those after it start, so that they may reuse what it had. */
export const endsBeforeNext = ({spec}: Frozen<Pod>, {name}: Frozen<AnyContainer>): boolean =>
  spec?.initContainers?.some(init => init.name === name && !isSidecar(init)) ?? false;

/** Returns the containers with assignments that are not among those of the pods, by the uid of their pod. */
export const leftContainers = (
  assignments: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
  pods: readonly Frozen<Pod>[],
): readonly (readonly [uid: string, name: string])[] => {
  const kept = new Map(pods.map(pod => [pod.metadata?.uid ?? '', new Set(allocatedContainers(pod).map(({name}) => name))]));
  return [...assignments].flatMap(([uid, containers]) =>
    [...containers.keys()].filter(name => !kept.get(uid)?.has(name)).map(name => [uid, name] as const),
  );
};
