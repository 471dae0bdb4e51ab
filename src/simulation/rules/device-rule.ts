import type {DurationRange} from './behavior.js';
import type {Pattern} from './pattern.js';

/** The value of a device attribute. */
export type AttributeValue = {readonly string: string} | {readonly int: number} | {readonly bool: boolean} | {readonly version: string};

export interface DeviceTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'NoExecute' | 'None';
}

/** Partitions of a device, which consume a part of its counters. */
export interface Partition {
  readonly name: string;
  readonly count: number;
  readonly counters: Readonly<Record<string, string>>;
}

/** When devices fail, after the start of their node, and for how long: for ever if absent. */
export interface HealthSettings {
  readonly unhealthyAfter?: DurationRange;
  readonly unhealthyFor?: DurationRange;
}

/** A rule of devices: matching nodes publish them in ResourceSlices. */
export interface DeviceRule extends HealthSettings {
  /** Node names; every node if absent. */
  readonly nodes?: readonly Pattern[];
  readonly driver: string;
  /** Devices are named `<name>-0` and so on. */
  readonly name: string;
  readonly count: number;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly capacity?: Readonly<Record<string, string>>;
  /** The taints of the devices, and `taintAfter`: the delay after the start of the node. */
  readonly taints?: readonly DeviceTaint[];
  readonly taintAfter?: DurationRange;
  /**
   * The counters shared by the partitions of a device, and the partitions: each is a device and replaces the whole one.
   */
  readonly counters?: Readonly<Record<string, string>>;
  readonly partitions?: readonly Partition[];
  /**
   * The binding conditions of a claim with the devices, the delay until they are true, and the failure that replaces
   * them.
   */
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
  readonly bindAfter?: DurationRange;
  readonly bindError?: string;
  /** The duration of device preparation for a pod. */
  readonly prepareAfter?: DurationRange;
  /** The error with which preparation fails. */
  readonly prepareError?: string;
}

/** Returns the rules of a node's devices. */
export const rulesOfNode = <T extends {readonly nodes?: readonly Pattern[]}>(rules: readonly T[], node: string): readonly T[] =>
  rules.filter(({nodes}) => !nodes || nodes.some(pattern => pattern.test(node)));

/** A device with its rule. */
export interface RuledDevice {
  readonly name: string;
  readonly rule: DeviceRule;
  /** The consumed counters, of the counter set named like the whole device. */
  readonly part?: {readonly of: string; readonly counters: Readonly<Record<string, string>>};
}

const partsOf = (rule: DeviceRule, of: string): readonly RuledDevice[] =>
  (rule.partitions ?? []).flatMap(({name, count, counters}) =>
    Array.from({length: count}, (_, index) => ({name: `${of}-${name}-${index}`, rule, part: {of, counters}})),
  );

/** Returns the devices of a node by driver. Rules with the same driver and name share one numbering. */
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
