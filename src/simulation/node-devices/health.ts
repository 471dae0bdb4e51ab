// The health of the devices of a simulated node, by its rules and by its annotation.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {patternOf} from '#src/simulation/rules/pattern.js';

const healths = ['Healthy', 'Unhealthy', 'Unknown'] as const;

/** The health of a device. */
export type Health = (typeof healths)[number];

/** The health of the devices that are not healthy, by key. */
export type DeviceFailures = ReadonlyMap<string, Health>;

/** A device of a node, with when its rule has it fail: in ms after the start of the node. */
export interface FailingDevice {
  readonly key: string;
  readonly outage?: {readonly from: number; readonly to: number};
}

/** Returns the key of a device, of its driver or extended resource and its name. */
export const deviceKey = (owner: string, name: string): string => `${owner}/${name}`;

/** The annotation with the health of devices: `example.com/gpu/gpu-0, gpu.example.com/gpu-*=Unknown`. */
const healthKey = (naming: Naming): string => naming.subKey('simulation', 'unhealthy-devices');

const readHealth = (naming: Naming, node: Frozen<Node>): ((key: string) => Health | undefined) => {
  const entries = (node.metadata?.annotations?.[healthKey(naming)] ?? '').split(',').flatMap(entry => {
    const [glob = '', word = 'Unhealthy'] = entry.split('=').map(part => part.trim());
    const health = healths.find(one => one === word);
    return glob && health ? [{pattern: patternOf(glob), health}] : [];
  });
  return key => entries.find(({pattern}) => pattern.test(key))?.health;
};

/** Returns the devices of a node that are not healthy at an age of the node in ms. The annotation precedes rules. */
export const failuresOf = (naming: Naming, node: Frozen<Node>, devices: readonly FailingDevice[], age: number): DeviceFailures => {
  const annotated = readHealth(naming, node);
  return new Map(
    devices.flatMap(({key, outage}) => {
      const isFailing = outage !== undefined && age >= outage.from && age < outage.to;
      const health = annotated(key) ?? (isFailing ? 'Unhealthy' : 'Healthy');
      return health === 'Healthy' ? [] : [[key, health] as const];
    }),
  );
};

/** Returns the delay in ms until a rule next changes the health of a device; Infinity for never. */
export const nextHealthChange = (devices: readonly FailingDevice[], age: number): number =>
  Math.min(Infinity, ...devices.flatMap(({outage}) => (outage ? [outage.from, outage.to] : [])).filter(at => at > age)) - age;
