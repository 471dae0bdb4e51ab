import type {DurationRange} from './behavior.js';
import type {Pattern} from './pattern.js';

/** The value of an attribute as devices have it. */
export type AttributeValue = {readonly string: string} | {readonly int: number} | {readonly bool: boolean} | {readonly version: string};

export interface DeviceTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'NoExecute' | 'None';
}

/** Devices that use a part of the counters of a whole one. */
export interface Partition {
  readonly name: string;
  readonly count: number;
  readonly counters: Readonly<Record<string, string>>;
}

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
  /** What is wrong with the devices, from `taintAfter` on: how long after the start of the node. */
  readonly taints?: readonly DeviceTaint[];
  readonly taintAfter?: DurationRange;
  /** What the partitions of a device share, and the partitions: each is a device, in place of the whole one. */
  readonly counters?: Readonly<Record<string, string>>;
  readonly partitions?: readonly Partition[];
  /**
   * The conditions that the claim's status has to have before a pod is bound, how long they take, and why they fail
   * instead.
   */
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
  readonly bindAfter?: DurationRange;
  readonly bindError?: string;
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
  /** The counters that it uses, of the set with the name of the whole device. */
  readonly part?: {readonly of: string; readonly counters: Readonly<Record<string, string>>};
}

const partsOf = (rule: DeviceRule, of: string): readonly RuledDevice[] =>
  (rule.partitions ?? []).flatMap(({name, count, counters}) =>
    Array.from({length: count}, (_, index) => ({name: `${of}-${name}-${index}`, rule, part: {of, counters}})),
  );

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
    for (let index = first; index < first + rule.count; index++) {
      const whole = `${rule.name}-${index}`;
      devices.push(...(rule.partitions ? partsOf(rule, whole) : [{name: whole, rule}]));
    }
  }
  return byDriver;
};
