// The NUMA nodes on which devices can be allocated. Pure.

import type {TopologyHint} from '#src/platlet/topology-manager/hints.js';
import {countOf, hasNode, masksOf, type NumaMask} from '#src/platlet/topology-manager/mask.js';
import type {Device, Devices} from '#src/platlet/pod/devices/devices.js';

export interface DeviceHintRequest {
  readonly devices: Devices;
  readonly available: ReadonlySet<string>;
  /** The devices that the pod has already: all of them must be on the nodes of a hint. */
  readonly reusable: ReadonlySet<string>;
  readonly count: number;
}

/** Returns the hints for a number of devices. Those with the fewest NUMA nodes are preferred. */
export const deviceHints = (
  nodes: readonly number[],
  {devices, available, reusable, count}: DeviceHintRequest,
): readonly TopologyHint[] => {
  const isOn = (mask: NumaMask, device: Device | undefined): boolean => device?.nodes?.some(node => hasNode(mask, node)) ?? false;
  // Devices without any word about their nodes fit everywhere, but count nowhere.
  const placed = [...reusable].flatMap(id => (devices.get(id)?.nodes ? [devices.get(id)!] : []));
  let least = nodes.length;
  const found: NumaMask[] = [];
  for (const mask of masksOf(nodes)) {
    if ([...devices.values()].filter(device => isOn(mask, device)).length >= count) least = Math.min(least, countOf(mask));
    if (!placed.every(device => isOn(mask, device))) continue;
    if (placed.length + [...available].filter(id => isOn(mask, devices.get(id))).length >= count) found.push(mask);
  }
  return found.map(affinity => ({affinity, isPreferred: countOf(affinity) === least}));
};
