// The health of the devices of pods, as their statuses show it.

import type {ResourceStatus} from '#src/platlet/pod/container-statuses.js';
import {claimHealth} from '#src/platlet/pod/devices/health.js';
import type {Agent} from '#src/simulation/node/agent.js';
import type {PodRecord} from '#src/simulation/pod/record.js';

/** Returns the health of the devices of a container, by resource and by claim. */
export const deviceHealthOf = ({devices}: Agent, {pod, claimed}: PodRecord, container: string): readonly ResourceStatus[] => {
  if (!devices.isHealthStored) return [];
  const ofClaims = claimHealth(pod, container, claim =>
    (claimed?.get(claim) ?? []).map(({driver, pool, device}) => ({
      id: `${driver}/${pool}/${device}`,
      health: devices.healthOfDevice(driver, device),
    })),
  );
  return [...devices.healthOf(pod, container), ...ofClaims];
};

/** Notes whether the server has stored the health of a pod's devices, which it drops if its gate is off. */
export const noteStoredHealth = (agent: Agent, record: PodRecord): void => {
  const {containerStatuses = []} = record.pod.status ?? {};
  const isDropped = containerStatuses.some(
    ({name, allocatedResourcesStatus = []}) => allocatedResourcesStatus.length === 0 && deviceHealthOf(agent, record, name).length > 0,
  );
  if (isDropped) agent.devices.isHealthStored = false;
};
