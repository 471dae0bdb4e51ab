// The ResourceSlices and DeviceClasses of a simulated DRA driver: each node publishes its devices according to the
// rules.

import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import type {Agent} from '#src/simulation/node/agent.js';
import {drawDuration} from '#src/simulation/rules/behavior.js';
import {devicesOfNode, rulesOfNode, type DeviceRule, type RuledDevice} from '#src/simulation/rules/device-rule.js';
import {createUnlessPresent} from '#src/simulation/volumes/objects.js';

type ResourceSlice = ObjectOf<typeof kinds.resourceSlices>;

/**
 * The limits of devices per slice, of devices per slice if they have taints or counters, and of counter sets per slice
 * (the API reference, ResourceSliceSpec).
 */
const maxDevices = 128;
const maxDetailedDevices = 64;
const maxCounterSets = 8;

/** Creates a DeviceClass for each driver, unless it exists. */
export const createDeviceClasses = async (client: Client, rules: readonly DeviceRule[]): Promise<void> => {
  for (const driver of new Set(rules.map(rule => rule.driver))) {
    const selectors = [{cel: {expression: `device.driver == ${JSON.stringify(driver)}`}}];
    await createUnlessPresent(client, kinds.deviceClasses, {metadata: {name: driver}, spec: {selectors}});
  }
};

const valuesOf = (amounts: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(amounts).map(([key, value]) => [key, {value}]));

const deviceOf = ({name, rule, part}: RuledDevice, isTainted: boolean) => {
  const {attributes, capacity, taints, bindingConditions, bindingFailureConditions} = rule;
  return {
    name,
    ...(attributes ? {attributes} : {}),
    ...(capacity ? {capacity: valuesOf(capacity)} : {}),
    ...(part ? {consumesCounters: [{counterSet: part.of, counters: valuesOf(part.counters)}]} : {}),
    ...(taints && isTainted ? {taints} : {}),
    ...(bindingConditions ? {bindingConditions} : {}),
    ...(bindingFailureConditions ? {bindingFailureConditions} : {}),
  };
};

/** Returns the counter sets shared by partitions, by the names of whole devices. */
const counterSetsOf = (devices: readonly RuledDevice[]) => {
  const sets = new Map(devices.flatMap(({part, rule}) => (part ? [[part.of, valuesOf(rule.counters ?? {})] as const] : [])));
  return [...sets].map(([name, counters]) => ({name, counters}));
};

const chunked = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({length: Math.ceil(list.length / size)}, (_, at) => list.slice(at * size, (at + 1) * size));

type Content = Pick<ResourceSlice['spec'], 'devices' | 'sharedCounters'>;

/** Returns the specs of the slices of devices. */
const contentsOf = (devices: readonly RuledDevice[], isTainted: (device: RuledDevice) => boolean): readonly Content[] => {
  const shown = devices.map(device => deviceOf(device, isTainted(device)));
  const isDetailed = shown.some(device => 'taints' in device || 'consumesCounters' in device);
  return [
    ...chunked(counterSetsOf(devices), maxCounterSets).map(sharedCounters => ({sharedCounters})),
    ...chunked(shown, isDetailed ? maxDetailedDevices : maxDevices).map(each => ({devices: each})),
  ] as readonly Content[];
};

/** Returns the spec of a slice without server defaults. */
const contentOf = ({spec: {devices, sharedCounters}}: ResourceSlice): Content => ({
  ...(sharedCounters ? {sharedCounters} : {}),
  ...(devices
    ? {
        devices: devices.map(device =>
          device.taints
            ? {...device, taints: device.taints.map(({key, value, effect}) => ({key, ...(value === undefined ? {} : {value}), effect}))}
            : device,
        ) as NonNullable<Content['devices']>,
      }
    : {}),
});

/**
 * Publishes the devices of a node, as a DRA driver on it would. Slices that are up to date are left alone. Returns the
 * delay in ms until they have to be published again for a device taint; Infinity for never.
 */
export const publishDevices = async (
  {client, machine: {name}, startedAt}: Agent,
  naming: Naming,
  rules: readonly DeviceRule[],
  node: Frozen<Node>,
  clock: Pick<Clock, 'monotonic'>,
): Promise<number> => {
  const age = clock.monotonic() - startedAt;
  const taintedAfter = (rule: DeviceRule): number =>
    rule.taintAfter ? drawDuration(rule.taintAfter, `${name}/${rule.driver}/${rule.name}/taintAfter`) : 0;
  const isTainted = ({rule}: RuledDevice): boolean => age >= taintedAfter(rule);
  const slices = client.resource(kinds.resourceSlices);
  const byDriver = devicesOfNode(rules, name);
  const {items} = await slices.list({fieldSelector: `spec.nodeName=${name}`});
  const own = new Set(rules.map(({driver}) => driver));
  for (const driver of own) {
    const contents = contentsOf(byDriver.get(driver) ?? [], isTainted);
    const found = items.filter(({spec}) => spec.driver === driver);
    const isUpToDate =
      found.length === contents.length &&
      contents.every(content =>
        found.some(each => each.spec.pool.resourceSliceCount === contents.length && sameJson(contentOf(each), content)),
      );
    if (isUpToDate) continue;
    const generation = 1 + Math.max(0, ...found.map(({spec}) => spec.pool.generation));
    for (const content of contents) {
      const slice: ResourceSlice = {
        metadata: {
          generateName: `${name}-${driver}-`,
          ownerReferences: [
            {apiVersion: naming.apiVersion('', 'v1'), kind: kinds.nodes.kind, name, uid: node.metadata?.uid ?? '', controller: true},
          ],
        },
        spec: {driver, nodeName: name, pool: {name, generation, resourceSliceCount: contents.length}, ...content},
      };
      await slices.create(slice);
    }
    for (const {metadata} of found) await slices.delete(metadata!.name!);
  }
  const coming = rulesOfNode(rules, name).filter(rule => rule.taints && taintedAfter(rule) > age);
  return Math.min(Infinity, ...coming.map(rule => taintedAfter(rule) - age));
};
