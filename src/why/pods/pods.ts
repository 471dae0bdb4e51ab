import {kinds} from '#src/api/kinds/index.js';
import type {Container, Pod} from '#src/api/pod.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {becauseOf, conditionOf, type Condition} from '#src/why/facts/conditions.js';
import {subject, type Finding, type Rule} from '#src/why/facts/finding.js';
import {referenceTo} from '#src/why/facts/reference.js';
import {containerFinding} from './containers.js';
import {scheduling, schedulingGate, taintedNode} from './scheduling.js';
import {volumes} from './volumes.js';

const condition = (pod: Pod, type: string): Condition | undefined => conditionOf(pod, type);

/** The node of a pod that is being deleted, or whose containers are to be seen, does not report. */
const awayNode = async (pod: Pod, cluster: Cluster) => {
  const name = pod.spec?.nodeName;
  if (!name) return {};
  const {found, isAbsent} = await cluster.look(kinds.nodes, name);
  const ready = found && conditionOf(found, 'Ready');
  return {
    isAbsent,
    node: found && ready?.status !== 'True' ? referenceTo(kinds.nodes, found) : undefined,
    since: ready?.lastTransitionTime,
  };
};

/** A pod without finalizers that is being deleted has until its time to end. */
const terminating: Rule<Pod> = async (pod, cluster) => {
  const {deletionTimestamp, deletionGracePeriodSeconds = 0} = pod.metadata ?? {};
  const until = parseTime(deletionTimestamp);
  if (until === undefined) return undefined;
  const since = wireTime(until - deletionGracePeriodSeconds * 1000);
  const {node, isAbsent} = await awayNode(pod, cluster);
  if (isAbsent)
    return {
      rule: 'deletion-without-node',
      sentence: `it is being deleted, and its node ${pod.spec?.nodeName} does not exist any more`,
      since,
      ends: 'The pod-garbage-collector-controller of the controller manager deletes it, as soon as it works.',
    };
  if (node)
    return {
      rule: 'deletion-unconfirmed',
      sentence: `it is being deleted, and its node ${node.name} does not confirm that its containers have ended`,
      since,
      ends: `The agent of ${node.name}, once it is back. If the machine is surely off: kubectl delete pod ${pod.metadata?.name} -n ${pod.metadata?.namespace} --force.`,
      next: node,
    };
  return {
    rule: 'grace-period',
    sentence: `it is being deleted, and its containers have until ${deletionTimestamp} to end`,
    since,
    ends:
      until > cluster.now
        ? `The end of its containers; at ${deletionTimestamp} they are killed.`
        : 'The agent of its node, which kills its containers now.',
  };
};

const failed: Rule<Pod> = pod => {
  if (pod.status?.phase !== 'Failed') return undefined;
  const statuses = [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])];
  const bad = statuses.find(({state}) => state?.terminated && state.terminated.exitCode !== 0);
  const end = bad?.state?.terminated;
  const {reason, message} = pod.status;
  const target = condition(pod, 'DisruptionTarget');
  const why =
    reason || message
      ? becauseOf({reason, message} as Condition)
      : bad
        ? `the container ${bad.name} ended with code ${end?.exitCode}${end?.reason ? ` (${end.reason})` : ''}`
        : target
          ? becauseOf(target)
          : 'no reason was given';
  return {
    rule: 'pod-failed',
    sentence: `it has failed and does not run again: ${why}`,
    since: end?.finishedAt ?? condition(pod, 'Ready')?.lastTransitionTime,
    ends: 'A new pod: its owner makes one, if it has an owner that does.',
  };
};

const silentNode: Rule<Pod> = async (pod, cluster) => {
  const {node, isAbsent, since} = await awayNode(pod, cluster);
  if (isAbsent)
    return {
      rule: 'node-missing',
      sentence: `it is bound to the node ${pod.spec?.nodeName}, which does not exist`,
      since: condition(pod, 'PodScheduled')?.lastTransitionTime,
      ends: 'A node of this name, or a new pod.',
    };
  if (!node) return undefined;
  return {
    rule: 'node-not-ready',
    sentence: `its node ${node.name} is not ready, so that nothing is known of its containers`,
    since,
    ends: `The agent of ${node.name}, once it is back.`,
    next: node,
  };
};

const sandbox: Rule<Pod> = async (pod, cluster) => {
  if (pod.status?.phase !== 'Pending' || condition(pod, 'PodReadyToStartContainers')?.status === 'True') return undefined;
  const failure = (await cluster.events(kinds.pods, pod)).find(({reason}) => reason === 'FailedCreatePodSandBox');
  return (
    failure && {
      rule: 'sandbox',
      sentence: `its sandbox cannot be created: ${failure.message}`,
      since: failure.first,
      ends: 'The container runtime or the network plugin of the node; the agent tries again.',
    }
  );
};

/** The first container that holds up the others: init containers in their order, then the others. */
const containers: Rule<Pod> = async (pod, cluster) => {
  const events = await cluster.events(kinds.pods, pod);
  const {initContainerStatuses = [], containerStatuses = []} = pod.status ?? {};
  const of = (list: readonly Container[], statuses: typeof containerStatuses, prefix: string): Finding | undefined => {
    for (const container of list) {
      const status = statuses.find(({name}) => name === container.name);
      const title = `${prefix}container ${container.name}`;
      const found = status && containerFinding({pod, container, status, events, title});
      if (found) return found;
    }
    return undefined;
  };
  const found = of(pod.spec?.initContainers ?? [], initContainerStatuses, 'init ') ?? of(pod.spec?.containers ?? [], containerStatuses, '');
  if (found) return {...found, since: found.since || condition(pod, 'PodScheduled')?.lastTransitionTime};
  if (pod.status?.phase !== 'Pending' || containerStatuses.length > 0) return undefined;
  return {
    rule: 'agent-silent',
    sentence: `the agent of the node ${pod.spec?.nodeName} has not begun with it`,
    since: condition(pod, 'PodScheduled')?.lastTransitionTime,
    ends: 'The agent of the node, as soon as it sees the pod.',
  };
};

const readinessGate: Rule<Pod> = pod => {
  const gate = pod.spec?.readinessGates?.find(({conditionType}) => condition(pod, conditionType)?.status !== 'True');
  if (!gate) return undefined;
  const {conditionType} = gate;
  const found = condition(pod, conditionType);
  const {manager} = pod.metadata?.managedFields?.find(({fieldsV1}) => JSON.stringify(fieldsV1 ?? {}).includes(conditionType)) ?? {};
  return {
    rule: 'readiness-gate',
    sentence: `its containers are ready, and its readiness gate ${conditionType} ${found ? `is ${found.status} (${becauseOf(found)})` : 'has no condition'}`,
    since: found?.lastTransitionTime ?? condition(pod, 'ContainersReady')?.lastTransitionTime,
    ends: `The condition ${conditionType} in its status, which ${found && manager ? `the field manager ${manager}` : 'a controller of its own'} sets.`,
  };
};

const resize: Rule<Pod> = pod => {
  const found = condition(pod, 'PodResizePending');
  if (found?.status !== 'True') return undefined;
  return {
    rule: 'resize',
    sentence: `its new resources are not in force: ${becauseOf(found)}`,
    since: found.lastTransitionTime,
    ends: found.reason === 'Infeasible' ? 'Smaller resources: its node never has so much.' : 'The end of other pods on its node.',
  };
};

const unready: Rule<Pod> = pod => {
  const ready = condition(pod, 'Ready');
  if (!ready || ready.status === 'True' || pod.status?.phase === 'Succeeded') return undefined;
  return {
    rule: 'not-ready',
    sentence: `it is not ready: ${becauseOf(ready)}`,
    since: ready.lastTransitionTime,
    ends: 'The agent of its node, once it reports that the pod is ready.',
  };
};

/** A pod that has ended well waits for nothing. */
const unlessOver =
  (rule: Rule<Pod>): Rule<Pod> =>
  (pod, cluster) =>
    pod.status?.phase === 'Succeeded' ? undefined : rule(pod, cluster);

export const podSubject = subject<Pod>({
  rules: [
    terminating,
    failed,
    ...[schedulingGate, scheduling, silentNode, taintedNode, volumes, sandbox, containers, readinessGate, resize, unready].map(unlessOver),
  ],
  rest: pod =>
    pod.status?.phase === 'Succeeded'
      ? 'all its containers have ended with code 0'
      : `${(pod.spec?.containers.length ?? 0) === 1 ? 'its container is' : `its ${pod.spec?.containers.length} containers are`} ready on the node ${pod.spec?.nodeName} since ${condition(pod, 'Ready')?.lastTransitionTime}`,
});
