import type {DeviceConfig, MountConfig} from '#src/platlet/runtime/configs.js';

/** What is added to the configuration of a container. */
export interface ContainerOptions {
  readonly environment: ReadonlyMap<string, string>;
  readonly mounts: readonly MountConfig[];
  readonly devices: readonly DeviceConfig[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly string[];
}

/** Nothing. */
export const noOptions: ContainerOptions = {environment: new Map(), mounts: [], devices: [], annotations: {}, cdiDevices: []};
