// What a container gets with its devices. Pure.

import type {ContainerOptions} from '#src/platlet/inputs/container-options.js';
import type {DeviceConfig, MountConfig} from '#src/platlet/runtime/configs.js';
import type {ContainerAllocation} from './messages.js';

/**
 * Joins what a container gets with the devices of several resources. Of two settings of the same name, the first
 * counts.
 */
export const containerOptions = (responses: readonly ContainerAllocation[]): ContainerOptions => {
  const environment = new Map<string, string>();
  const mounts = new Map<string, MountConfig>();
  const devices = new Map<string, DeviceConfig>();
  const annotations: Record<string, string> = {};
  const add = <T>(to: Map<string, T>, key: string, value: T): void => void (to.has(key) || to.set(key, value));
  for (const response of responses) {
    for (const [name, value] of Object.entries(response.envs)) add(environment, name, value);
    for (const {containerPath, hostPath, permissions} of response.devices)
      add(devices, containerPath, {containerPath, hostPath, permissions});
    for (const {containerPath, hostPath, readOnly} of response.mounts)
      add(mounts, containerPath, {containerPath, hostPath, readonly: readOnly, propagation: 'private'});
    for (const [key, value] of Object.entries(response.annotations)) annotations[key] ??= value;
  }
  const cdiDevices = [...new Set(responses.flatMap(({cdiDevices: names}) => names.map(({name}) => name)))];
  return {environment, mounts: [...mounts.values()], devices: [...devices.values()], annotations, cdiDevices};
};
