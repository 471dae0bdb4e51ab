import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {aPlane} from '#test/controllers/plane.js';
import {actionsOn} from '#test/controllers/workloads.js';
import {aNode} from './objects.js';

const deviceGates = 'DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices'.split(
  ' ',
);

/**
 * A plane with nodes `a` and `b`, the controller of claims, the class `any`, and all features of devices that need no
 * further API.
 */
export const aDevicePlane = async (...controllers: readonly string[]) => {
  const gates = `--feature-gates=${deviceGates.map(gate => `${gate}=true`).join(',')}`;
  const plane = await aPlane({
    controllers: ['serviceaccount-controller', 'resourceclaim-controller', ...controllers],
    apiserverArgs: [gates],
    controllerManagerArgs: [gates],
    schedulerArgs: [gates],
  });
  const at = actionsOn(plane);
  for (const name of ['a', 'b']) {
    const made = await at.client.resource(kinds.nodes).create(aNode(name));
    await at.client.resource(kinds.nodes).update({...made, spec: {}});
  }
  await at.create(kinds.deviceClasses, {metadata: {name: 'any', namespace: ''}, spec: {}});
  return {
    ...at,
    plane,
    [Symbol.asyncDispose]: () => plane.stop(),
    nodeOf: async (name: string) => (await at.get(kinds.pods, name)).spec?.nodeName,
    async condition(name: string) {
      const {status} = await at.get(kinds.pods, name);
      return status?.conditions?.find(({type}) => type === 'PodScheduled')?.message;
    },
    /** The devices of a claim and the pods that use it. */
    async state(name: string) {
      const {status} = await at.get(kinds.resourceClaims, name);
      return [
        (status?.allocation?.devices?.results ?? []).map(({request, device}) => `${request}=${device}`).join(' '),
        (status?.reservedFor ?? []).map(consumer => consumer.name),
      ] as const;
    },
  };
};

/** A pod with these entries in `resourceClaims`. */
export const aDevicePod = (name: string, entry: {claim?: string; template?: string}, more: Partial<PodSpec> = {}): Pod => ({
  metadata: {name},
  spec: {
    containers: [{name: 'c', image: 'i'}],
    resourceClaims: [
      {
        name: 'devices',
        ...(entry.claim ? {resourceClaimName: entry.claim} : {}),
        ...(entry.template ? {resourceClaimTemplateName: entry.template} : {}),
      },
    ],
    ...more,
  },
});
