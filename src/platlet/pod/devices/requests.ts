// The devices that containers request. Pure.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {parseQuantity, quantityValue} from '#src/api/quantity.js';
import {podLimits} from '#src/model/pod/requests.js';

/** The numbers of devices, by resource. */
export type DeviceRequests = ReadonlyMap<string, number>;

/** Whether the request of a container for an extended resource is met by a ResourceClaim instead. */
const isMetByClaim = ({status}: Frozen<Pod>, container: string, resource: string): boolean =>
  status?.extendedResourceClaimStatus?.requestMappings?.some(
    ({containerName, resourceName}) => containerName === container && resourceName === resource,
  ) ?? false;

/** Returns the numbers of devices that a container requests. Limits are requests: devices are never shared. */
export const containerDeviceRequests = (
  pod: Frozen<Pod>,
  {name, resources}: Frozen<AnyContainer>,
  isDevice: (resource: string) => boolean,
): DeviceRequests =>
  new Map(
    Object.entries(resources?.limits ?? {}).flatMap(([resource, text]) =>
      isDevice(resource) && !isMetByClaim(pod, name, resource) ? [[resource, Number(quantityValue(parseQuantity(text)))] as const] : [],
    ),
  );

/** Returns the numbers of devices that the containers of a pod need at the same time. */
export const podDeviceRequests = (pod: Frozen<Pod>, isDevice: (resource: string) => boolean): DeviceRequests => {
  const withoutOverhead = {...pod, spec: {...pod.spec!, overhead: {}}};
  return new Map(
    [...podLimits(withoutOverhead)].flatMap(([resource, amount]) =>
      isDevice(resource) ? [[resource, Number(quantityValue(amount))] as const] : [],
    ),
  );
};
