import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Workload} from '#src/api/kinds/scheduling.js';
import type {Pod} from '#src/api/pod.js';
import {workloadRefOf} from '#src/scheduler/cache/pod-groups.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Cluster, Permit} from '#src/scheduler/framework/plugin.js';

type Policy = Frozen<Workload>['spec']['podGroups'][number]['policy'];

const workloadOf = ({pod, namespace}: PodInfo, {lister}: Cluster): Frozen<Workload> | undefined =>
  lister(kinds.workloads).get({namespace, name: workloadRefOf(pod)?.name ?? ''});

const policyOf = ({pod}: PodInfo, workload: Frozen<Workload>): Policy | undefined =>
  workload.spec.podGroups.find(({name}) => name === workloadRefOf(pod)?.podGroup)?.policy;

/** Whether a pod must not be tried yet: its workload, its group or too many other pods are missing. */
const isGated = (info: PodInfo, cluster: Cluster): boolean => {
  if (!cluster.podGroups || !workloadRefOf(info.pod)) return false;
  const workload = workloadOf(info, cluster);
  const policy = workload && policyOf(info, workload);
  if (!policy) return true;
  return policy.gang !== undefined && (cluster.podGroups.of(info.pod)?.size ?? 0) < policy.gang.minCount;
};

/** Returns the number of pods that must have nodes before any of the pod's group is bound; 0 if it is no gang. */
const minCountOf = (info: PodInfo, cluster: Cluster): number => {
  const ref = workloadRefOf(info.pod)!;
  const workload = workloadOf(info, cluster);
  // Tried again once there is a workload.
  if (!workload) {
    const missing = `workload.${cluster.naming.group('scheduling')} ${JSON.stringify(ref.name)} not found`;
    throw new Error(`failed to get workload ${info.namespace}/${ref.name}: ${missing}`);
  }
  const policy = policyOf(info, workload);
  if (!policy) throw new Error(`pod group ${JSON.stringify(ref.podGroup)} doesn't exist for a workload ${JSON.stringify(ref.name)}`);
  return policy.gang?.minCount ?? 0;
};

const isOfSameGroup = ({pod}: PodInfo, other: Frozen<Pod> | undefined): boolean => {
  const [one, two] = [workloadRefOf(pod), other && workloadRefOf(other)];
  return (
    one !== undefined &&
    two !== undefined &&
    pod.metadata?.namespace === other?.metadata?.namespace &&
    one.name === two.name &&
    one.podGroup === two.podGroup &&
    (one.podGroupReplicaKey ?? '') === (two.podGroupReplicaKey ?? '')
  );
};

/**
 * Binds pods of a gang only once as many of them as it requires have nodes: each waits with its node for the others,
 * for a limited time.
 */
export const gangScheduling: Permit = {
  plugin: 'GangScheduling',
  gates: isGated,
  hints: [
    // References to workloads, and the groups of workloads, are immutable.
    {on: ['UnschedulablePodAdd', 'AssignedPodAdd'], shouldQueue: (pod, _, now: Frozen<Pod> | undefined) => isOfSameGroup(pod, now)},
    {
      on: ['WorkloadAdd'],
      shouldQueue: ({pod, namespace}, _, now) => workloadRefOf(pod)?.name === now?.metadata?.name && namespace === now?.metadata?.namespace,
    },
  ],
  reserve({pod, uid}, {podGroups}) {
    const group = podGroups?.of(pod);
    group?.assume(uid);
    return () => group?.forget(uid);
  },
  permit(info, cluster) {
    const group = cluster.podGroups?.of(info.pod);
    if (!group) return 'allow';
    const minCount = minCountOf(info, cluster);
    if (minCount === 0) return 'allow';
    // Those without a node may have been waiting for this pod to have one.
    if (group.scheduledCount < minCount) return {waitMs: group.timeLeft(), activate: group.unscheduled};
    return {allow: group.assumed};
  },
};
