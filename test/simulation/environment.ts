import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import type {Plane} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';
import {podsOf} from './pod-states.js';

export {describePod, podNamed, podsOf, timeline} from './pod-states.js';

export type NodesPlane = Plane & {readonly clock: VirtualClock};

/** A plane with simulated nodes and only the controllers that pods need. */
export const aPlaneWithNodes = (
  options: Omit<PlaneOptions, 'clock' | 'listen' | 'freeze' | 'controllers'> & {readonly clock?: VirtualClock} = {},
): Promise<NodesPlane> => aPlane({nodes: 1, controllerManagerArgs: ['--controllers=serviceaccount-controller'], ...options});

export interface BoundPod extends Partial<NonNullable<Pod['spec']>> {
  readonly name?: string;
  readonly node?: string;
  /** Its behavior annotation. */
  readonly behavior?: string;
  readonly metadata?: Pod['metadata'];
}

/** A pod with one container, bound to a node. */
export const aBoundPod = ({name = 'pod', node = 'plat-node-0', behavior, metadata, ...spec}: BoundPod = {}): Pod => ({
  metadata: {
    name,
    namespace: 'default',
    ...metadata,
    annotations: {...metadata?.annotations, ...(behavior ? {'simulation.plat.io/behavior': behavior} : {})},
  },
  spec: {nodeName: node, containers: [{name: 'app', image: 'nginx:1.27'}], ...spec},
});

/** Creates a bound pod. */
export const run = (plane: Plane, pod: BoundPod = {}): Promise<Pod> => podsOf(plane).create(aBoundPod(pod));

export const annotate = (plane: Plane, name: string, annotations: Readonly<Record<string, string | null>>): Promise<Pod> =>
  podsOf(plane).patch(name, 'merge', {metadata: {annotations}}, {namespace: 'default'});

/** A pod's conditions by type. */
export const conditionsOf = ({status}: Pod): Record<string, string> =>
  Object.fromEntries((status?.conditions ?? []).map(({type, status: text}) => [type, text]));

/** `reason: message` of the events about an object, in order of creation. */
export const eventsOf = async (plane: Plane, name: string, namespace = 'default'): Promise<string[]> => {
  const {items} = await plane.client().resource(kinds.coreEvents).list({namespace});
  return items
    .filter(({involvedObject}) => involvedObject.name === name)
    .sort((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1))
    .map(({reason, message}) => `${reason}: ${message}`);
};
