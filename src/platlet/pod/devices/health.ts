// The health of the devices of a container, as its status shows it. Pure.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {ResourceStatus} from '#src/platlet/pod/container-statuses.js';
import {healthy, idsOf, type Devices} from './devices.js';
import type {ContainerDevices} from './pod-devices.js';

/** Returns the health of the devices of extended resources. A device that its plugin no longer reports is healthy. */
export const resourceHealth = (assigned: ContainerDevices, devicesOf: (resource: string) => Devices): readonly ResourceStatus[] =>
  [...assigned].map(([name, {devices}]) => ({
    name,
    resources: [...idsOf(devices)].map(id => {
      const {health} = devicesOf(name).get(id) ?? {health: healthy};
      return {resourceID: id, health: health === healthy ? 'Healthy' : 'Unhealthy'};
    }),
  }));

/** A device of a claim. */
export interface ClaimedDevice {
  readonly id: string;
  readonly health: 'Healthy' | 'Unhealthy' | 'Unknown';
}

/**
 * Returns the health of the devices of generated claims: as in the original, of no others. `devicesOf` returns the
 * devices of a prepared claim by its name.
 */
export const claimHealth = (
  {spec, status}: Frozen<Pod>,
  containerName: string,
  devicesOf: (claim: string) => readonly ClaimedDevice[],
): readonly ResourceStatus[] => {
  const container = spec?.containers.find(({name}) => name === containerName);
  const statuses = new Map<string, ResourceStatus>();
  for (const {name, request} of container?.resources?.claims ?? []) {
    const made = status?.resourceClaimStatuses?.find(one => one.name === name)?.resourceClaimName;
    const devices = made ? devicesOf(made) : [];
    if (devices.length === 0) continue;
    const shown = request ? `claim:${name}/${request}` : `claim:${name}`;
    statuses.set(shown, {name: shown, resources: devices.map(({id, health}) => ({resourceID: id, health}))});
  }
  return [...statuses.values()];
};
