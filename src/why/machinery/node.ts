import {kinds} from '#src/api/kinds/index.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import type {Node} from '#src/api/types.js';
import {controllerOf} from '#src/model/owners.js';
import {isTerminal} from '#src/model/pod/state.js';
import {becauseOf, conditionOf} from '#src/why/facts/conditions.js';
import {counted} from '#src/base/text/counted.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {referenceTo} from '#src/why/facts/reference.js';

const silent: Rule<Node> = async (node, cluster) => {
  const ready = conditionOf(node, 'Ready');
  if (ready?.status === 'True') return undefined;
  const name = node.metadata?.name ?? '';
  if (!ready)
    return {
      rule: 'node-never-ready',
      sentence: 'its agent has never reported',
      since: node.metadata?.creationTimestamp,
      ends: `The agent of ${name}, as soon as it works.`,
    };
  const since = ready.lastTransitionTime;
  if (ready.status !== 'Unknown')
    return {
      rule: 'node-not-ready',
      sentence: `its agent reports that it is not ready: ${becauseOf(ready)}`,
      since,
      ends: `What the agent of ${name} lacks.`,
    };
  const lease = await cluster.get(kinds.leases, name, cluster.naming.nodeLeaseNamespace);
  return {
    rule: 'node-silent',
    sentence: `its agent does not report any more${lease?.spec?.renewTime ? `, and has renewed its lease last at ${lease.spec.renewTime}` : ''}`,
    since,
    ends: `The agent of ${name}, once the machine, its network and the agent work again.`,
  };
};

/** A cordoned node keeps pods that a budget protects from eviction. */
const drained: Rule<Node> = async (node, cluster) => {
  if (!node.spec?.unschedulable) return undefined;
  const name = node.metadata?.name ?? '';
  const pods = await cluster.list(kinds.pods, {fieldSelector: `spec.nodeName=${name}`});
  const left = pods.filter(pod => !isTerminal(pod) && controllerOf(pod)?.kind !== 'DaemonSet');
  for (const namespace of new Set(left.map(({metadata}) => metadata?.namespace ?? ''))) {
    for (const budget of await cluster.list(kinds.podDisruptionBudgets, {namespace})) {
      if ((budget.status?.disruptionsAllowed ?? 0) > 0) continue;
      const selector = labelSelectorOf(budget.spec?.selector);
      const pod = left.find(({metadata}) => metadata?.namespace === namespace && selector.matches(metadata?.labels ?? {}));
      if (pod)
        return {
          rule: 'drain',
          sentence: `it is cordoned, and its pod ${namespace}/${pod.metadata?.name} cannot be evicted, as the budget ${budget.metadata?.name} allows none`,
          ends: `A budget ${budget.metadata?.name} that allows an eviction.`,
          next: referenceTo(kinds.podDisruptionBudgets, budget),
        };
    }
  }
  return {
    rule: 'cordoned',
    sentence: `it is cordoned and takes no new pods${left.length > 0 ? `, and ${counted(left.length, 'pod')} on it would be evicted by a drain` : ''}`,
    since: (node.spec.taints?.find(({key}) => key.endsWith('/unschedulable')) as {readonly timeAdded?: string} | undefined)?.timeAdded,
    ends: `kubectl uncordon ${name}`,
  };
};

const pressed: Rule<Node> = node => {
  const types = ['NetworkUnavailable', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
  const found = types.map(type => conditionOf(node, type)).find(condition => condition?.status === 'True');
  if (!found) return undefined;
  return {
    rule: 'node-pressure',
    sentence: `it has the condition ${found.type}, with which it takes no new pods: ${becauseOf(found)}`,
    since: found.lastTransitionTime,
    ends:
      found.type === 'NetworkUnavailable'
        ? 'A route to the node, by the route controller of the cloud provider.'
        : 'Less use of what is short: the agent evicts pods meanwhile.',
  };
};

const uninitialized: Rule<Node> = node => {
  const taint = node.spec?.taints?.find(({key}) => key.startsWith('node.cloudprovider.'));
  if (!taint) return undefined;
  return {
    rule: 'node-uninitialized',
    sentence: `it has the taint ${taint.key} until a cloud provider has initialized it`,
    since: node.metadata?.creationTimestamp,
    ends: 'The cloud-node-controller of the cloud provider, as soon as it works.',
  };
};

/** A taint that was for a node that did not report, and stays although it does. */
const stale: Rule<Node> = (node, {naming}) => {
  const taint = node.spec?.taints?.find(
    ({key}) => key === naming.subKey('node', 'not-ready') || key === naming.subKey('node', 'unreachable'),
  );
  if (!taint) return undefined;
  return {
    rule: 'node-taint',
    sentence: `its agent reports that it is ready, and it still has the taint ${taint.key}`,
    since: conditionOf(node, 'Ready')?.lastTransitionTime,
    ends: 'The node-lifecycle-controller of the controller manager, as soon as it works.',
  };
};

export const nodeSubject = subject<Node>({
  rules: [silent, uninitialized, stale, drained, pressed],
  rest: node => `its agent reports that it is ready since ${conditionOf(node, 'Ready')?.lastTransitionTime}, and it takes pods`,
});
