// The slices and classes of a simulated DRA driver: each node publishes the devices that rules give it.

import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import type {Agent} from '#src/simulation/node/agent.js';
import {devicesOfNode, type DeviceRule, type RuledDevice} from '#src/simulation/rules/device-rule.js';
import {unlessPresent} from '#src/simulation/volumes/objects.js';

type ResourceSlice = ObjectOf<typeof kinds.resourceSlices>;

/** The most devices of one slice (the API reference, ResourceSliceSpec). */
const maxDevices = 128;

/** Creates a class of all devices for each driver, unless it exists. */
export const createDeviceClasses = async (client: Client, rules: readonly DeviceRule[]): Promise<void> => {
  for (const driver of new Set(rules.map(rule => rule.driver))) {
    const selectors = [{cel: {expression: `device.driver == ${JSON.stringify(driver)}`}}];
    await unlessPresent(client, kinds.deviceClasses, {metadata: {name: driver}, spec: {selectors}});
  }
};

const deviceOf = ({name, rule: {attributes, capacity}}: RuledDevice) => ({
  name,
  ...(attributes ? {attributes} : {}),
  ...(capacity ? {capacity: Object.fromEntries(Object.entries(capacity).map(([key, value]) => [key, {value}]))} : {}),
});

/** Publishes the devices of a node, as its agent would for a driver. Slices that are up to date stay. */
export const publishDevices = async (
  {client, machine: {name}}: Agent,
  naming: Naming,
  rules: readonly DeviceRule[],
  node: Frozen<Node>,
): Promise<void> => {
  const slices = client.resource(kinds.resourceSlices);
  const byDriver = devicesOfNode(rules, name);
  const {items} = await slices.list({fieldSelector: `spec.nodeName=${name}`});
  const own = new Set(rules.map(({driver}) => driver));
  for (const driver of own) {
    const devices = (byDriver.get(driver) ?? []).map(deviceOf);
    const found = items.filter(({spec}) => spec.driver === driver);
    const pieces = Array.from({length: Math.ceil(devices.length / maxDevices)}, (_, at) =>
      devices.slice(at * maxDevices, (at + 1) * maxDevices),
    );
    const isUpToDate =
      found.length === pieces.length &&
      pieces.every(piece => found.some(({spec}) => spec.pool.resourceSliceCount === pieces.length && sameJson(spec.devices ?? [], piece)));
    if (isUpToDate) continue;
    const generation = 1 + Math.max(0, ...found.map(({spec}) => spec.pool.generation));
    for (const piece of pieces) {
      const slice: ResourceSlice = {
        metadata: {
          generateName: `${name}-${driver}-`,
          ownerReferences: [
            {apiVersion: naming.apiVersion('', 'v1'), kind: kinds.nodes.kind, name, uid: node.metadata?.uid ?? '', controller: true},
          ],
        },
        spec: {driver, nodeName: name, pool: {name, generation, resourceSliceCount: pieces.length}, devices: piece as never},
      };
      await slices.create(slice);
    }
    for (const {metadata} of found) await slices.delete(metadata!.name!);
  }
};
