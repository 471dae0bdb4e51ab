// The devices that containers of a pod may use one after the other. Pure.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {endsBeforeNext} from '#src/platlet/pod/allocated-containers.js';
import {idsOf} from './devices.js';
import type {ContainerDevices} from './pod-devices.js';

/** The devices that the next containers of a pod may reuse, by resource. */
export type ReusableDevices = Map<string, ReadonlySet<string>>;

/** Notes what a container has: it is free for the containers after it, unless the container runs beside them. */
export const noteReuse = (
  reusable: ReusableDevices,
  {pod, container}: {readonly pod: Frozen<Pod>; readonly container: Frozen<AnyContainer>},
  devicesOfContainer: ContainerDevices,
): void => {
  const ends = endsBeforeNext(pod, container);
  for (const [resource, {devices}] of devicesOfContainer) {
    const own = idsOf(devices);
    const others = [...(reusable.get(resource) ?? [])].filter(id => !own.has(id));
    reusable.set(resource, new Set(ends ? [...others, ...own] : others));
  }
};
