import type {DurationRange} from './behavior.js';
import type {Pattern} from './pattern.js';

/** The value of an attribute as devices have it. */
export type AttributeValue = {readonly string: string} | {readonly int: number} | {readonly bool: boolean} | {readonly version: string};

/** A rule of devices: nodes that match have them, and publish them in ResourceSlices. */
export interface DeviceRule {
  /** Names of nodes; every node if not set. */
  readonly nodes?: readonly Pattern[];
  readonly driver: string;
  /** Devices are called `<name>-0` and so on. */
  readonly name: string;
  readonly count: number;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly capacity?: Readonly<Record<string, string>>;
  /** How long a device is prepared for a pod. */
  readonly prepareAfter?: DurationRange;
  /** Why a device cannot be prepared. */
  readonly prepareError?: string;
}

/** Returns the rules of a node's devices. */
export const rulesOfNode = (rules: readonly DeviceRule[], node: string): readonly DeviceRule[] =>
  rules.filter(({nodes}) => !nodes || nodes.some(pattern => pattern.test(node)));

/** A device by the rule that it has. */
export interface RuledDevice {
  readonly name: string;
  readonly rule: DeviceRule;
}

/** Returns the devices of a node by driver. Rules of one driver and name continue the numbers. */
export const devicesOfNode = (rules: readonly DeviceRule[], node: string): Map<string, RuledDevice[]> => {
  const byDriver = new Map<string, RuledDevice[]>();
  const numbers = new Map<string, number>();
  for (const rule of rulesOfNode(rules, node)) {
    const devices = byDriver.get(rule.driver) ?? [];
    byDriver.set(rule.driver, devices);
    const key = `${rule.driver}/${rule.name}`;
    const first = numbers.get(key) ?? 0;
    numbers.set(key, first + rule.count);
    for (let index = first; index < first + rule.count; index++) devices.push({name: `${rule.name}-${index}`, rule});
  }
  return byDriver;
};
