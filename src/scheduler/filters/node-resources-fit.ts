import {signsResources} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject, Node} from '#src/api/types.js';
import {NodeInfo} from '#src/scheduler/cache/node-info.js';
import {requestsOf, type PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Resources} from '#src/scheduler/cache/resources.js';
import type {Cluster, Filter, Rejection} from '#src/scheduler/framework/plugin.js';

type ResourceRequests = readonly (readonly [name: string, amount: number, of: (resources: Readonly<Resources>) => number])[];

/** The requested resources, each with an accessor for the same resource of a node. */
const resourceRequests = ({requests}: PodInfo): ResourceRequests =>
  [
    ...([
      ['cpu', requests.cpu, of => of.cpu],
      ['memory', requests.memory, of => of.memory],
      ['ephemeral-storage', requests.ephemeralStorage, of => of.ephemeralStorage],
    ] as ResourceRequests),
    ...[...requests.scalars].map(([name, amount]) => [name, amount, of => of.scalars.get(name) ?? 0] as ResourceRequests[number]),
  ].filter(([, amount]) => amount > 0);

/** `byDevices` are resources that device classes provide where a node does not. */
const checkFit = (
  wanted: ResourceRequests,
  {pods, maxPods, allocatable, requested}: NodeInfo,
  byDevices: readonly string[] = [],
): Rejection | undefined => {
  let reasons: string[] | undefined;
  let unresolvable = false;
  if (pods.size + 1 > maxPods) reasons = ['Too many pods'];
  for (const [name, amount, of] of wanted) {
    if (amount <= of(allocatable) - of(requested) || (of(allocatable) === 0 && byDevices.includes(name))) continue;
    (reasons ??= []).push(`Insufficient ${name}`);
    unresolvable ||= amount > of(allocatable);
  }
  return reasons && {reasons, unresolvable};
};

const resourcesByDevices = (pod: PodInfo, {features, extended}: Cluster['devices']): readonly string[] =>
  features.extendedResource ? extended.resourcesOf(pod) : [];

const emptyNode = (node: Frozen<Node> | undefined): NodeInfo => {
  const info = new NodeInfo(node?.metadata?.name ?? '');
  info.setNode(node);
  return info;
};

/** Whether the node, without any pods, has room for the pod, and more of it than before. */
const shouldQueueOnNode = (
  pod: PodInfo,
  old: Frozen<Node> | undefined,
  now: Frozen<Node> | undefined,
  byDevices: readonly string[],
): boolean => {
  const wanted = resourceRequests(pod);
  const [before, after] = [emptyNode(old), emptyNode(now)];
  if (checkFit(wanted, after, byDevices)) return false;
  return !old || after.maxPods > before.maxPods || wanted.some(([, , of]) => of(after.allocatable) > of(before.allocatable));
};

/** Whether a pod now requests less of a resource that this one requests. */
const shouldQueueOnScaleDown = (pod: PodInfo, old: Frozen<Pod>, now: Frozen<Pod>, {gate}: Cluster): boolean => {
  if (now.metadata?.uid === pod.uid) return true;
  if (!now.spec?.nodeName) return false;
  const podLevel = gate('PodLevelResources');
  const [before, after] = [requestsOf(old, podLevel), requestsOf(now, podLevel)];
  return resourceRequests(pod).some(([, , of]) => of(before) > of(after));
};

const isAssignedOrNominated = ({spec, status}: Frozen<Pod>): boolean => Boolean(spec?.nodeName || status?.nominatedNodeName);

/** Rejects nodes without room for the requests and overhead of the pod, except for ignored resources. */
export const nodeResourcesFitIgnoring = (isIgnored: (resource: string) => boolean): Filter => ({
  plugin: 'NodeResourcesFit',
  sign: signsResources,
  prepare(pod, {devices}) {
    const wanted = resourceRequests(pod).filter(([name]) => !isIgnored(name));
    const byDevices = resourcesByDevices(pod, devices);
    return {
      signature: `${wanted.map(([name, amount]) => `${name} ${amount}`).join(', ')}; ${byDevices.join(', ')}`,
      filter: node => checkFit(wanted, node, byDevices),
    };
  },
  hints: [
    {
      on: ['NodeAdd', 'NodeUpdateNodeAllocatable'],
      shouldQueue: (pod, old, now, {devices}) => shouldQueueOnNode(pod, old, now, resourcesByDevices(pod, devices)),
    },
    {on: ['AssignedPodDelete'], shouldQueue: (_, old) => old !== undefined && isAssignedOrNominated(old)},
    {
      on: ['AssignedPodUpdatePodScaleDown', 'UnschedulablePodUpdatePodScaleDown'],
      shouldQueue: (pod, old: Frozen<KubeObject> | undefined, now: Frozen<KubeObject> | undefined, cluster) =>
        shouldQueueOnScaleDown(pod, old!, now!, cluster),
    },
  ],
});

/** Rejects nodes without room for the requests and overhead of the pod. */
export const nodeResourcesFit = nodeResourcesFitIgnoring(() => false);
