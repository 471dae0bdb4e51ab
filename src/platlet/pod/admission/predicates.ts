// The scheduling predicates that the node checks again.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {matchesNode} from '#src/model/node-affinity.js';
import {untolerated} from '#src/model/taints.js';
import {portsConflict, type NodeAllocation} from './allocation.js';
import {isStaticPod} from '#src/platlet/pod/origin.js';
import type {Rejection} from './rejection.js';

const failed = (predicate: string, why: string): Rejection => ({reason: predicate, message: `Predicate ${predicate} failed: ${why}`});

/** The operating system that this agent runs on. */
const ownSystem = 'linux';

/** Returns the rejection of a pod for another operating system or architecture. */
export const systemRejection = (naming: Naming, node: Frozen<Node>, pod: Frozen<Pod>): Rejection | undefined => {
  const {labels: {[naming.labels.os]: os} = {}} = pod.metadata ?? {};
  if (os !== undefined && os !== ownSystem) {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: `Failed to admit pod as the \`${naming.labels.os}\` label doesn't match node label`,
    };
  }
  if (pod.spec?.os && pod.spec.os.name !== ownSystem)
    return {reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS"};
  if (pod.spec?.securityContext?.supplementalGroupsPolicy === 'Strict' && node.status?.features?.supplementalGroupsPolicy !== true) {
    return {
      reason: 'SupplementalGroupsPolicyNotSupported',
      message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    };
  }
  return undefined;
};

/** Returns the rejection of a pod that does not match the node's affinity, ports or taints. */
export const placementRejection = (
  naming: Naming,
  node: Frozen<Node>,
  allocation: NodeAllocation,
  pod: Frozen<Pod>,
): Rejection | undefined => {
  if (!matchesNode(pod.spec!, node)) return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  if (pod.spec?.nodeName && pod.spec.nodeName !== node.metadata?.name)
    return failed('NodeName', "node(s) didn't match the requested node name");
  if (portsConflict(allocation, pod)) return failed('NodePorts', "node(s) didn't have free ports for the requested pod ports");
  if (!isStaticPod(naming, pod) && untolerated(node.spec?.taints, pod.spec?.tolerations, 'NoExecute'))
    return failed('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  return undefined;
};

/** Returns the rejection by a node without a Node object. */
export const unknownNodeRejection = (naming: Naming): Rejection => ({
  reason: 'InvalidNodeInfo',
  message: `${naming.agent.charAt(0).toUpperCase()}${naming.agent.slice(1)} cannot get node info.`,
});
