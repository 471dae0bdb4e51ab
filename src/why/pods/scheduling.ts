// Why a pod has no node yet.

import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {untolerated} from '#src/model/taints.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {conditionOf, type Condition} from '#src/why/facts/conditions.js';
import type {Finding, Rule} from '#src/why/facts/finding.js';
import {reference, referenceTo, type Reference} from '#src/why/facts/reference.js';
import {blockingNode, objectionsOf} from './nodes.js';

/** What would end a refusal of all nodes, by the words of the scheduler. */
const remedies: readonly (readonly [RegExp, (found: RegExpExecArray) => string])[] = [
  [
    /Insufficient ([\w/-]+(?:\.[\w/-]+)*)/,
    ([, name]) => `a node with enough ${name} (smaller requests, the end of other pods, or another node)`,
  ],
  [/untolerated taint/, () => 'a toleration of the taint in the pod, or a node without it'],
  [/match Pod's node affinity\/selector/, () => "a node with labels that match the pod's node selector or affinity"],
  [/were unschedulable/, () => 'a node that is not cordoned (kubectl uncordon NODE)'],
  [/available persistent volumes to bind/, () => 'a volume for its claims that a node can reach'],
  [/free ports/, () => 'a node on which the host ports of the pod are free'],
  [/volume node affinity/, () => 'a node from which the volume of the pod can be reached'],
  [/anti-affinity/, () => 'a node without the pods that its anti-affinity, or theirs, excludes'],
  [/pod affinity/, () => 'a node with the pods that its affinity asks for'],
  [/topology spread/, () => 'a node in a topology domain with fewer pods, or other topologySpreadConstraints'],
  [/Too many pods/, () => 'a node with room for one more pod'],
  [/no nodes available/, () => 'a node that joins the cluster'],
];

const remedyOf = (message: string): string => {
  const found = remedies.flatMap(([pattern, text]) => {
    const match = pattern.exec(message);
    return match ? [text(match)] : [];
  });
  const text = found.join('; or ');
  return text
    ? `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
    : 'The scheduler tries again as soon as something changes that could help.';
};

/** The part of the scheduler's message about nodes, without what it says of preemption. */
const refusalOf = (message: string): string => message.replace(/ (?:preemption|no new claims to deallocate).*$/s, '').replace(/\.$/, '');

export const schedulingGate: Rule<Pod> = pod => {
  const gates = pod.spec?.schedulingGates ?? [];
  if (gates.length === 0) return undefined;
  const names = gates.map(({name}) => name).join(', ');
  return {
    rule: 'scheduling-gate',
    sentence: `it is not scheduled as long as it has the scheduling gate${gates.length > 1 ? 's' : ''} ${names}`,
    since: pod.metadata?.creationTimestamp,
    ends: `Whoever set ${gates.length > 1 ? 'the gates' : 'the gate'} removes it from spec.schedulingGates.`,
  };
};

/** The scheduler has not looked at a pod: it is another one, or none works. */
const unseen = async (pod: Pod, cluster: Cluster): Promise<Finding> => {
  const {naming} = cluster;
  const {schedulerName = 'default-scheduler'} = pod.spec ?? {};
  const isUsual = schedulerName === 'default-scheduler';
  const lease = isUsual ? await cluster.get(kinds.leases, naming.component('scheduler'), naming.systemNamespace) : undefined;
  return {
    rule: 'scheduler-missing',
    sentence: `no scheduler has looked at it, and it asks for the scheduler ${schedulerName}`,
    since: pod.metadata?.creationTimestamp,
    ends: `A scheduler with a profile ${schedulerName} that works${isUsual ? '' : ', or another spec.schedulerName'}.`,
    next: lease && referenceTo(kinds.leases, lease),
  };
};

/** A claim of the pod that has to be bound first, or that does not exist. */
const claimFinding = async (pod: Pod, cluster: Cluster, since: string | undefined): Promise<Finding | undefined> => {
  const namespace = pod.metadata?.namespace ?? '';
  for (const {name, persistentVolumeClaim, ephemeral} of pod.spec?.volumes ?? []) {
    const claimName = persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod.metadata?.name}-${name}` : undefined);
    if (claimName === undefined) continue;
    const {found, isAbsent} = await cluster.look(kinds.persistentVolumeClaims, claimName, namespace);
    if (isAbsent)
      return {
        rule: 'claim-missing',
        sentence: `it uses the persistent volume claim ${claimName}, which does not exist`,
        since,
        ends: `The creation of the claim ${claimName} in the namespace ${namespace}.`,
      };
    if (found && found.status?.phase !== 'Bound')
      return {
        rule: 'claim-pending',
        sentence: `its claim ${claimName} is not bound`,
        since,
        ends: 'A volume for the claim.',
        next: referenceTo(kinds.persistentVolumeClaims, found),
      };
  }
  return undefined;
};

const pendingDevices = async (pod: Pod, cluster: Cluster): Promise<Reference | undefined> => {
  const namespace = pod.metadata?.namespace ?? '';
  for (const {name, resourceClaimName} of pod.spec?.resourceClaims ?? []) {
    const claim = resourceClaimName ?? pod.status?.resourceClaimStatuses?.find(each => each.name === name)?.resourceClaimName;
    if (claim === undefined) continue;
    const {found, isAbsent} = await cluster.look(kinds.resourceClaims, claim, namespace);
    if (isAbsent || (found && !found.status?.allocation)) return reference(kinds.resourceClaims, claim, namespace);
  }
  return undefined;
};

/** Pods that have to end on the node that was chosen. */
const preempting = async (node: string, cluster: Cluster, {lastTransitionTime}: Condition): Promise<Finding> => {
  const pods = await cluster.list(kinds.pods, {fieldSelector: `spec.nodeName=${node}`});
  const victim = pods.find(({metadata}) => metadata?.deletionTimestamp);
  return {
    rule: 'preemption',
    sentence: `it takes the place of pods of a lower priority on the node ${node}${victim ? `, of which ${victim.metadata?.namespace}/${victim.metadata?.name} has not ended` : ''}`,
    since: lastTransitionTime,
    ends: `The end of the preempted pods on ${node}.`,
    next: victim && referenceTo(kinds.pods, victim),
  };
};

export const scheduling: Rule<Pod> = async (pod, cluster) => {
  if (pod.spec?.nodeName) return undefined;
  const condition = conditionOf(pod, 'PodScheduled');
  // A pod whose volumes are made for the chosen node has no condition yet.
  if (!condition || condition.status === 'True') return (await claimFinding(pod, cluster, undefined)) ?? unseen(pod, cluster);
  const {message = '', lastTransitionTime: since} = condition;
  if (pod.status?.nominatedNodeName) return preempting(pod.status.nominatedNodeName, cluster, condition);
  const sentence = `no node takes it: ${refusalOf(message)}`;
  const claim = /persistentvolumeclaim|PersistentVolumeClaim/.test(message) ? await claimFinding(pod, cluster, since) : undefined;
  if (claim) return claim;
  const devices = await pendingDevices(pod, cluster);
  if (devices && /resourceclaim|allocate/.test(message))
    return {
      rule: 'devices',
      sentence,
      since,
      ends: 'Devices for all its claims.',
      details: await objectionsOf(pod, cluster),
      next: devices,
    };
  return {
    rule: 'no-node-fits',
    sentence,
    since,
    ends: remedyOf(message),
    details: await objectionsOf(pod, cluster),
    next: await blockingNode(pod, cluster),
  };
};

/** A pod that evictions end soon, as it does not tolerate a taint of its node. */
export const taintedNode: Rule<Pod> = async (pod, cluster) => {
  const node = pod.spec?.nodeName ? await cluster.get(kinds.nodes, pod.spec.nodeName) : undefined;
  const taint = node && untolerated(node.spec?.taints, pod.spec?.tolerations, 'NoExecute');
  if (!node || !taint || pod.metadata?.deletionTimestamp) return undefined;
  return {
    rule: 'eviction-by-taint',
    sentence: `its node ${node.metadata?.name} has the taint ${taint.key}:NoExecute, which it does not tolerate, and it is to be evicted`,
    since: (taint as {readonly timeAdded?: string}).timeAdded,
    ends: 'The eviction by the taint-eviction-controller, or the end of the taint.',
    next: referenceTo(kinds.nodes, node),
  };
};
