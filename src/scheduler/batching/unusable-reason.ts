import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {SortedNodes} from './sorted-nodes.js';

/** The nodes that a pod left over. */
export interface Batch {
  readonly signature: string;
  readonly nodes: SortedNodes;
  /** Monotonic, in ms. */
  readonly createdAt: number;
}

/** The last cycle in which a pod of the profile got a node. */
export interface LastCycle {
  readonly cycle: number;
  readonly chosenNode: string;
}

/** A pod that may take a node of a batch, and what decides on it. */
export interface NextPod {
  readonly cycle: number;
  readonly signature: string | undefined;
  readonly now: number;
  nodeOf(name: string): NodeInfo | undefined;
  /** Whether a node has no room for the pod. */
  isFull(node: NodeInfo): boolean;
}

export type UnusableReason = 'pod_skipped' | 'pod_incompatible' | 'expired' | 'node_missing' | 'node_not_full';

/** How long the nodes of a batch are used. */
const maxAgeMs = 500;

/**
 * Returns why a pod cannot take a node of a batch; undefined if it can. The node that the pod before it took must have
 * no room for it: otherwise that node would have to be scored again, and might be the best.
 */
export const unusableReason = (
  {signature, createdAt}: Batch,
  last: LastCycle | undefined,
  {cycle, signature: own, now, nodeOf, isFull}: NextPod,
): UnusableReason | undefined => {
  // A pod between them had another profile, or got no node.
  if (!last || cycle !== last.cycle + 1) return 'pod_skipped';
  if (own !== signature) return 'pod_incompatible';
  if (now > createdAt + maxAgeMs) return 'expired';
  const lastNode = nodeOf(last.chosenNode);
  if (!lastNode) return 'node_missing';
  return isFull(lastNode) ? undefined : 'node_not_full';
};
