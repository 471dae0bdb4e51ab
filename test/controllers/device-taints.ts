import type {ExecutionContext} from 'ava';
import deviceTaintEviction from '#controllers/device-taint-eviction/controller.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {startServer} from '#test/fixtures/server.js';
import {aClaim, aPodWithClaims, consumer} from './device-claims.js';
import {alone} from './workloads.js';

export const driver = 'driver.example.com';
export const mark = 'Normal DeviceTaintManagerEviction Marking for deletion';
export const cancel = 'Normal DeviceTaintManagerEviction Cancelling deletion';
export const second = 1000;

/** Starts the controller, with actions on slices, rules and pods that use devices. */
export const startTaintEviction = async (t: ExecutionContext) => {
  const gates = ['DRADeviceTaints', 'DRADeviceTaintRules', 'DRAExtendedResource'];
  const server = startServer({gate: name => gates.includes(name)});
  const at = await alone(t, [deviceTaintEviction], {concurrentDeviceTaintEvictionSyncs: 8}, server);
  const slices = at.client.resource(kinds.resourceSlices);
  const rules = at.client.resource(kinds.deviceTaintRules);
  const settle = async <T>(done: Promise<T>) => {
    const value = await done;
    await at.clock.drain();
    return value;
  };
  /** Creates a claim with the device, reserved for a pod. */
  const allocate = async (name: string, pod: Pod, metadata: object = {}, tolerations: readonly object[] = []): Promise<void> => {
    const namespace = pod.metadata!.namespace!;
    await at.create(kinds.resourceClaims, aClaim(name, {namespace, ...metadata}));
    const results = [{request: 'r', driver, pool: 'p', device: 'd', ...(tolerations.length > 0 ? {tolerations} : {})}];
    const status = {allocation: {devices: {results}}, reservedFor: [consumer(pod)]};
    await settle(at.client.resource(kinds.resourceClaims).patch(name, 'merge', {status}, {namespace, subresource: 'status'}));
  };
  return {
    ...at,
    taint: (effect = 'NoExecute', more: object = {}) => ({key: 'bad', effect, timeAdded: wireTime(at.clock.now()), ...more}),
    /** Publishes the device `d` of pool `p`. */
    publish: (name: string, taints: readonly object[] = [], generation = 1) =>
      settle(
        slices.create({
          metadata: {name},
          spec: {driver, nodeName: 'n', pool: {name: 'p', generation, resourceSliceCount: 1}, devices: [{name: 'd', taints}]},
        } as never),
      ),
    retaint: (name: string, taints: readonly object[]) => settle(slices.patch(name, 'merge', {spec: {devices: [{name: 'd', taints}]}})),
    unpublish: (name: string) => settle(slices.delete(name)),
    rule: (name: string, effect: string, deviceSelector: object | undefined = {driver}) =>
      settle(rules.create({metadata: {name}, spec: {taint: {key: 'rule', effect}, ...(deviceSelector ? {deviceSelector} : {})}} as never)),
    unrule: (name: string) => settle(rules.delete(name)),
    async condition(name: string) {
      const condition = (await rules.get(name)).status?.conditions?.find(({type}) => type === 'EvictionInProgress');
      return condition && `${condition.status} ${condition.reason} ${condition.message}`;
    },
    /** A running pod with a claim of its name for the device. */
    async runsWith(name: string, tolerations: readonly object[] = [], on = 'n', namespace = 'default'): Promise<Pod> {
      const {metadata, spec} = aPodWithClaims(name, {c: {claim: name}}, on ? {nodeName: on} : {});
      const pod = await at.create(kinds.pods, {metadata: {...metadata, namespace}, spec: spec!});
      await allocate(name, pod, {}, tolerations);
      return pod;
    },
    allocate,
    isThere: (name: string) =>
      at.get(kinds.pods, name).then(
        // Its node would remove it.
        ({metadata}) => !metadata?.deletionTimestamp,
        (error: unknown) => !isNotFound(error),
      ),
  };
};
