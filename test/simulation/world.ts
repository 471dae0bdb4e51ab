import type {Pod} from '#src/api/pod.js';
import {kinds} from '#src/api/kinds.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Plane, PlaneOptions} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';

export type NodesPlane = Plane & {readonly clock: VirtualClock};

/** A plane with simulated nodes that runs no controllers but those that pods cannot do without. */
export const aPlaneWithNodes = (options: Omit<PlaneOptions, 'clock' | 'listen' | 'freeze'> & {readonly clock?: VirtualClock} = {}): Promise<NodesPlane> =>
  aPlane({nodes: 1, controllerManagerArgs: ['--controllers=serviceaccount-controller'], ...options});

/** A pod with one container, bound to a node from the start. */
export const aBoundPod = ({name = 'pod', node = 'plat-node-0', ...spec}: {name?: string; node?: string} & Partial<NonNullable<Pod['spec']>> = {}): Pod => ({
  metadata: {name, namespace: 'default'},
  spec: {nodeName: node, containers: [{name: 'app', image: 'nginx:1.27'}], ...spec},
});

export const podsOf = (plane: Plane) => plane.client().resource(kinds.pods);

export const podNamed = (plane: Plane, name = 'pod'): Promise<Pod> => podsOf(plane).get(name, {namespace: 'default'});

/** `type=status` of a pod's conditions. */
export const conditionsOf = ({status}: Pod): Record<string, string> => Object.fromEntries((status?.conditions ?? []).map(({type, status: text}) => [type, text]));

/** `reason: message` of the events about an object, in the order of their making. */
export const eventsAbout = async (plane: Plane, name: string, namespace = 'default'): Promise<string[]> => {
  const {items} = await plane.client().resource(kinds.coreEvents).list({namespace});
  return items
    .filter(({involvedObject}) => involvedObject.name === name)
    .sort((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1))
    .map(({reason, message}) => `${reason}: ${message}`);
};
