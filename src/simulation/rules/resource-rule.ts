import {rulesOfNode, type HealthSettings} from './device-rule.js';
import type {Pattern} from './pattern.js';

/** A rule of devices that matching nodes offer as an extended resource. */
export interface ResourceRule extends HealthSettings {
  /** Node names; every node if absent. */
  readonly nodes?: readonly Pattern[];
  readonly resource: string;
  /** Devices are named `<name>-0` and so on. */
  readonly name: string;
  readonly count: number;
}

/** A device with its rule. */
export interface ResourceDevice {
  readonly name: string;
  readonly rule: ResourceRule;
}

/** Returns the devices of a node by extended resource. Rules with the same resource and name share one numbering. */
export const resourceDevicesOfNode = (rules: readonly ResourceRule[], node: string): ReadonlyMap<string, readonly ResourceDevice[]> => {
  const byResource = new Map<string, ResourceDevice[]>();
  for (const rule of rulesOfNode(rules, node)) {
    const devices = byResource.get(rule.resource) ?? [];
    byResource.set(rule.resource, devices);
    const first = devices.filter(device => device.rule.name === rule.name).length;
    for (let index = first; index < first + rule.count; index++) devices.push({name: `${rule.name}-${index}`, rule});
  }
  return byResource;
};
