// Why each node does not take a pod, as far as it can be told from the objects.

import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  subtractQuantities,
  zeroQuantity,
  type Quantity,
} from '#src/api/quantity.js';
import type {Node} from '#src/api/types.js';
import {matchesNode} from '#src/model/node-affinity.js';
import {podRequests} from '#src/model/pod/requests.js';
import {isTerminal} from '#src/model/pod/state.js';
import {untolerated} from '#src/model/taints.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {referenceTo, type Reference} from '#src/why/facts/reference.js';

/** The most nodes that are looked at one by one. */
const maxNodes = 10;

/** Why a node refuses a pod, without regard to what other pods use; undefined if it does not. */
export const objectionOf = (pod: Pod, node: Node): string | undefined => {
  const {spec} = pod;
  const taint = untolerated(node.spec?.taints, spec?.tolerations, 'NoSchedule', 'NoExecute');
  if (taint) return `it has the taint ${taint.key}${taint.value ? `=${taint.value}` : ''}:${taint.effect}, which the pod does not tolerate`;
  if (node.spec?.unschedulable) return 'it is cordoned';
  return spec && matchesNode(spec, node) ? undefined : "it does not match the pod's node selector or affinity";
};

/** What a pod asks for and a node with these pods has no more: `cpu: 500m free, 2 asked for`. */
export const shortages = (pod: Pod, node: Node, others: readonly Pod[]): string[] => {
  const used = new Map<string, Quantity>();
  const active = others.filter(other => !isTerminal(other));
  for (const other of active)
    for (const [name, amount] of podRequests(other)) used.set(name, addQuantities(used.get(name) ?? zeroQuantity, amount));
  const {allocatable = {}} = node.status ?? {};
  const short = [...podRequests(pod)].flatMap(([name, asked]) => {
    const free = subtractQuantities(parseQuantity(allocatable[name] ?? '0'), used.get(name) ?? zeroQuantity);
    return compareQuantities(asked, free) > 0
      ? [`${formatQuantity(free)} of ${name} is free, and the pod asks for ${formatQuantity(asked)}`]
      : [];
  });
  return active.length >= Number(allocatable['pods'] ?? Infinity) ? [...short, `it has ${active.length} pods, which is its limit`] : short;
};

/** One line for each of the first nodes: why it does not take the pod. */
export const objectionsOf = async (pod: Pod, cluster: Cluster): Promise<string[]> => {
  const nodes = await cluster.list(kinds.nodes);
  const lines = await Promise.all(
    nodes.slice(0, maxNodes).map(async node => {
      const name = node.metadata?.name ?? '';
      const objection = objectionOf(pod, node);
      if (objection !== undefined) return `${name}: ${objection}`;
      const short = shortages(pod, node, await cluster.list(kinds.pods, {fieldSelector: `spec.nodeName=${name}`}));
      return `${name}: ${short.join('; ') || 'another filter of the scheduler refuses it'}`;
    }),
  );
  return nodes.length > maxNodes ? [...lines, `and ${nodes.length - maxNodes} more nodes`] : lines;
};

/** Returns the first node to ask about where all nodes are cordoned, or not ready. */
export const blockingNode = async (pod: Pod, cluster: Cluster): Promise<Reference | undefined> => {
  const nodes = await cluster.list(kinds.nodes);
  const isAway = ({spec}: Node): boolean => spec?.taints?.some(({key}) => key.startsWith(cluster.naming.subKey('node', ''))) ?? false;
  const [first] = nodes;
  return first && nodes.every(node => isAway(node) && objectionOf(pod, node) !== undefined) ? referenceTo(kinds.nodes, first) : undefined;
};
