// The choice of devices for a container. Pure.

import {hasNode, type NumaMask} from '#src/platlet/topology-manager/mask.js';
import {isAligned, noNode, nodesOfDevice, type Devices} from './devices.js';

export interface DeviceRequest {
  readonly resource: string;
  readonly count: number;
  readonly devices: Devices;
  /** The healthy devices that no container has. */
  readonly available: ReadonlySet<string>;
  /** The devices of init containers of the pod that have ended by then: they are taken first. */
  readonly reusable: ReadonlySet<string>;
  /** The NUMA nodes to be preferred; undefined: any. */
  readonly affinity: NumaMask | undefined;
}

/** A question to the plugin: which devices it would take of these. */
export interface PreferenceRequest {
  readonly available: ReadonlySet<string>;
  readonly mustInclude: ReadonlySet<string>;
  readonly count: number;
}

/** The available devices by whether they are on the preferred NUMA nodes, on others, or on none. */
export interface DevicesByAffinity {
  readonly aligned: ReadonlySet<string>;
  readonly unaligned: ReadonlySet<string>;
  readonly free: ReadonlySet<string>;
}

/** Sorts the available devices by the preferred NUMA nodes. */
export const devicesByAffinity = ({
  devices,
  available,
  affinity,
}: Pick<DeviceRequest, 'devices' | 'available' | 'affinity'>): DevicesByAffinity => {
  if (affinity === undefined || !isAligned(devices)) return {aligned: new Set(), unaligned: new Set(), free: available};
  const isIn = (node: number): boolean => node !== noNode && hasNode(affinity, node);
  const found = {aligned: new Set<string>(), unaligned: new Set<string>(), free: new Set<string>()};
  for (const id of [...available].sort()) {
    const nodes = nodesOfDevice(devices.get(id));
    if (nodes.some(isIn)) found.aligned.add(id);
    else if (nodes.includes(noNode)) found.free.add(id);
    else found.unaligned.add(id);
  }
  return found;
};

const joined = (a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> => new Set([...a, ...b]);

/** A generator of the choice: yields questions to the plugin, and returns the devices. Throws if there are too few. */
export type Choice = Generator<PreferenceRequest, ReadonlySet<string>, ReadonlySet<string>>;

/** Chooses devices for a container. */
export const chooseDevices = function* (request: DeviceRequest): Choice {
  const {resource, count, available, reusable} = request;
  const taken = new Set<string>();
  const isEnough = (from: Iterable<string>): boolean => {
    for (const id of from) if (taken.size < count) taken.add(id);
    return taken.size >= count;
  };
  if (isEnough([...reusable].sort())) return taken;
  const needed = count - taken.size;
  const rest = new Set([...available].filter(id => !taken.has(id)).sort());
  if (rest.size < needed)
    throw new Error(`requested number of devices unavailable for ${resource}. Requested: ${needed}, Available: ${rest.size}`);
  const {aligned, unaligned, free} = devicesByAffinity({...request, available: rest});
  if (needed < aligned.size) {
    const preferred = yield {available: joined(aligned, taken), mustInclude: new Set(taken), count};
    if (isEnough([...preferred].filter(id => aligned.has(id))) || isEnough(aligned)) return taken;
  } else {
    if (isEnough(aligned)) return taken;
    const preferred = yield {available: joined(rest, taken), mustInclude: new Set(taken), count};
    if (isEnough([...preferred].filter(id => rest.has(id))) || isEnough(unaligned) || isEnough(free)) return taken;
  }
  throw new Error(`unexpectedly allocated less resources than required. Requested: ${count}, Got: ${taken.size}`);
};
