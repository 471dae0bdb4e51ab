import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';
import {aPlane} from './plane.js';
import {aTemplate, actionsOn, namespace, type PlaneActions} from './workloads.js';

export type Service = ObjectOf<typeof kinds.services>;
export type Slice = ObjectOf<typeof kinds.endpointSlices>;
export type Endpoints = ObjectOf<typeof kinds.endpoints>;

export const aService = (
  name: string,
  {
    labels,
    annotations,
    ...spec
  }: Partial<NonNullable<Service['spec']>> & {labels?: Record<string, string>; annotations?: Record<string, string>} = {},
): Service => ({
  metadata: {name, ...(labels ? {labels} : {}), ...(annotations ? {annotations} : {})},
  spec: {selector: {app: 'a'}, ports: [{port: 80, targetPort: 8080}], ...spec},
});

export const aNode = (
  name: string,
  {zone, cpu = '4', ready = true, labels = {}}: {zone?: string; cpu?: string; ready?: boolean; labels?: Record<string, string>} = {},
): Node => ({
  metadata: {name, labels: {...(zone ? {'topology.plat.io/zone': zone} : {}), ...labels}},
  status: {allocatable: {cpu, memory: '8Gi'}, conditions: [{type: 'Ready', status: ready ? 'True' : 'False'}]},
});

export interface Behind {
  readonly ips?: readonly string[];
  readonly ready?: boolean;
  readonly phase?: string;
  readonly labels?: Record<string, string>;
  readonly spec?: Partial<PodSpec>;
  readonly node?: string;
}

export const podStatus = ({ips = ['10.0.0.1'], ready = true, phase = 'Running'}: Behind, now: number) => ({
  phase,
  podIP: ips[0],
  podIPs: ips.map(ip => ({ip})),
  conditions: [{type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: wireTime(now)}],
});

/** Backends of services on a plane: pods whose status the test writes. */
export const backends = (at: PlaneActions) => {
  const {clock, client} = at;
  /** Writes the status of a pod. */
  const setStatus = (name: string, how: Behind) => at.patch(kinds.pods, name, {status: podStatus(how, clock.now())}, 'status');
  const run = async (name: string, how: Behind = {}): Promise<Pod> => {
    const {labels = {app: 'a'}, spec = {}, node = 'node-1'} = how;
    await client
      .resource(kinds.pods)
      .create({metadata: {name, namespace, labels}, spec: {...aTemplate(labels).spec!, nodeName: node, ...spec}});
    return setStatus(name, how);
  };
  const node = (...how: Parameters<typeof aNode>) => at.client.resource(kinds.nodes).create(aNode(...how));
  /** Lets time pass, and all that comes of it happen. */
  const later = async (ms = 1000) => {
    await clock.advance(ms);
    await clock.drain();
  };
  const service = (name: string, how: Parameters<typeof aService>[1] = {}) => at.create(kinds.services, aService(name, how));
  const slices = async (name = 'web'): Promise<Slice[]> =>
    (await at.list(kinds.endpointSlices)).filter(({metadata}) => metadata?.labels?.['plat.io/service-name'] === name);
  const endpoints = (name = 'web') => at.get(kinds.endpoints, name);
  return {setStatus, run, node, later, service, slices, endpoints};
};

/** A plane with these controllers and one node, and no accounts to wait for. */
export const startEnvironment = async (
  controllers: readonly string[],
  args: readonly string[] = [],
  apiserverArgs: readonly string[] = [],
) => {
  const plane = await aPlane({
    apiserverArgs,
    controllerManagerArgs: [`--controllers=serviceaccount-controller,${controllers.join(',')}`, ...args],
  });
  const at = actionsOn(plane);
  const behind = backends(at);
  await behind.node('node-1');
  return {plane, ...at, ...behind};
};
