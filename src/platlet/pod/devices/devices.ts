// The devices of one resource, as its plugin reports them. Pure.

export interface Device {
  readonly health: string;
  /** The NUMA nodes that it is connected to; undefined if the plugin does not tell. */
  readonly nodes: readonly number[] | undefined;
}

/** The devices of a resource, by id. */
export type Devices = ReadonlyMap<string, Device>;

export const healthy = 'Healthy';

/** Whether the NUMA node of any of the devices is known: then they are to be aligned. */
export const isAligned = (devices: Devices): boolean => [...devices.values()].some(({nodes}) => nodes !== undefined && nodes.length > 0);

/** Stands for the NUMA node of devices without one. */
export const noNode = -1;

/** Returns the NUMA nodes of a device; `noNode` alone if it has none. */
export const nodesOfDevice = (device: Device | undefined): readonly number[] => (device?.nodes?.length ? device.nodes : [noNode]);

/** The ids of devices by NUMA node. A device with several nodes is there several times. */
export type DevicesByNode = ReadonlyMap<number, readonly string[]>;

/** Sorts devices by NUMA node. */
export const byNode = (devices: Devices, ids: Iterable<string>): DevicesByNode => {
  const sorted = new Map<number, string[]>();
  for (const id of ids) for (const node of nodesOfDevice(devices.get(id))) sorted.set(node, [...(sorted.get(node) ?? []), id]);
  return sorted;
};

export const idsOf = (devices: DevicesByNode): ReadonlySet<string> => new Set([...devices.values()].flat());
