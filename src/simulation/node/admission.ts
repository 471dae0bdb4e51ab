import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {matchesNode} from '#src/model/node-affinity.js';
import {untolerated} from '#src/model/taints.js';
import {insufficientResource, portsConflict, type Rejection, type NodeAllocation} from './allocation.js';

const failed = (predicate: string, why: string): Rejection => ({reason: predicate, message: `Predicate ${predicate} failed: ${why}`});

/** Returns why the node's agent rejects a bound pod; undefined if it admits it. Compares with pods that were admitted before. */
export const admissionRejection = (
  naming: Naming,
  node: Frozen<Node>,
  allocation: NodeAllocation,
  pod: Frozen<Pod>,
): Rejection | undefined => {
  const {labels: {[naming.labels.os]: os} = {}} = pod.metadata ?? {};
  if (os !== undefined && os !== 'linux') {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: `Failed to admit pod as the \`${naming.labels.os}\` label doesn't match node label`,
    };
  }
  if (pod.spec?.os && pod.spec.os.name !== 'linux')
    return {reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS"};
  const {allocatable = {}} = node.status ?? {};
  const missing = insufficientResource(allocation, allocatable, pod);
  if (missing) return missing;
  if (!matchesNode(pod.spec!, node)) return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  if (portsConflict(allocation, pod)) return failed('NodePorts', "node(s) didn't have free ports for the requested pod ports");
  if (untolerated(node.spec?.taints, pod.spec?.tolerations, 'NoExecute'))
    return failed('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  return undefined;
};
