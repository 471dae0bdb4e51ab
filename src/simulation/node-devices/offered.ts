// The devices that rules place on a node, of drivers of claims and of extended resources.

import {drawDuration, never} from '#src/simulation/rules/behavior.js';
import {devicesOfNode, type HealthSettings} from '#src/simulation/rules/device-rule.js';
import {resourceDevicesOfNode} from '#src/simulation/rules/resource-rule.js';
import type {Rules} from '#src/simulation/rules/rules.js';
import {deviceKey, type FailingDevice} from './health.js';

/** The devices of a node. */
export interface OfferedDevices {
  /** The ids of devices by extended resource. */
  readonly resources: ReadonlyMap<string, readonly string[]>;
  /** All devices, those of drivers included. */
  readonly all: readonly FailingDevice[];
}

const failing = (node: string, owner: string, rule: HealthSettings, name: string): FailingDevice => {
  const key = deviceKey(owner, name);
  const {unhealthyAfter, unhealthyFor = never} = rule;
  if (!unhealthyAfter) return {key};
  const from = drawDuration(unhealthyAfter, `${node}/${key}/unhealthyAfter`);
  return {key, outage: {from, to: from + drawDuration(unhealthyFor, `${node}/${key}/unhealthyFor`)}};
};

/** Returns the devices that rules place on a node. */
export const offeredDevices = ({devices, resources}: Pick<Rules, 'devices' | 'resources'>, node: string): OfferedDevices => {
  const byResource = resourceDevicesOfNode(resources, node);
  const owned = [...devicesOfNode(devices, node), ...byResource];
  return {
    resources: new Map([...byResource].map(([resource, each]) => [resource, each.map(({name}) => name)])),
    all: owned.flatMap(([owner, each]) => each.map(({name, rule}) => failing(node, owner, rule, name))),
  };
};
