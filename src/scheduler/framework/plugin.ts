// The extension points of the scheduling framework, and how a plugin rejects nodes. Plugins see a snapshot of the
// cluster and never change it.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Source} from '#informers/selection.js';
import type {Lister} from '#informers/lister.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Steps, MaybeSteps} from '#src/base/steps.js';
import type {NamespaceLabels} from '#src/scheduler/cache/affinity-term.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {NodeMemo} from '#src/scheduler/cache/node-memo.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Devices} from '#src/scheduler/devices/devices.js';
import type {PodGroups} from '#src/scheduler/cache/pod-groups.js';
import type {ClusterEvent, EventKind} from './events.js';
import type {Reservation} from '#src/scheduler/cache/reservation.js';
import type {VolumeBinder} from '#src/scheduler/volumes/binder.js';

/** How many nodes are looked at in one step: the step itself costs as much as most looks. */
export const nodesPerStep = 8;

/** How many nodes are scored in one step, which takes less than to filter one. */
export const scoresPerStep = 32;

/** Plugins, by their names in metrics and configuration. */
export type PluginName =
  | 'SchedulingGates'
  | 'NodeUnschedulable'
  | 'NodeName'
  | 'TaintToleration'
  | 'NodeAffinity'
  | 'NodePorts'
  | 'NodeResourcesFit'
  | 'VolumeRestrictions'
  | 'NodeVolumeLimits'
  | 'VolumeBinding'
  | 'VolumeZone'
  | 'PodTopologySpread'
  | 'InterPodAffinity'
  | 'DynamicResources'
  | 'NodeDeclaredFeatures'
  | 'GangScheduling'
  | 'DefaultPreemption'
  | 'NodeResourcesBalancedAllocation'
  | 'ImageLocality'
  /** Stands for a cluster without nodes. */
  | 'NoNodes';

/** Why a node, or every node, is not feasible for a pod. */
export interface Rejection {
  readonly reasons: readonly string[];
  /** Whether preempting all pods of the node would not help. */
  readonly unresolvable: boolean;
}

/** A rejection that preemption may resolve. */
export const unschedulable = (...reasons: string[]): Rejection => ({reasons, unresolvable: false});
/** A rejection that preemption cannot resolve. */
export const unresolvable = (...reasons: string[]): Rejection => ({reasons, unresolvable: true});

/** The cluster state that decisions are made from. Nodes and the pods on them do not change during a decision. */
export interface Cluster {
  readonly naming: Naming;
  /** All nodes, in the order of evaluation. */
  readonly nodes: readonly NodeInfo[];
  node(name: string): NodeInfo | undefined;
  nodesWithImage(name: string): number;
  /** The nodes with pods that have any affinity terms, and with pods that have required anti-affinity terms. */
  readonly nodesWithAffinity: Iterable<NodeInfo>;
  readonly nodesWithRequiredAntiAffinity: Iterable<NodeInfo>;
  readonly labelsOf: NamespaceLabels;
  /** What is known of nodes from earlier decisions. */
  readonly memo: NodeMemo;
  /** Claims and volumes, including assumed ones, and the way to bind them. */
  readonly volumes: VolumeBinder;
  readonly devices: Devices;
  /** The pods of workloads by their groups, if these are scheduled together. */
  readonly podGroups: PodGroups | undefined;
  readonly clock: Clock;
  readonly log: Log;
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  gate(name: string): boolean;
}

/** A filter prepared for one pod. */
export interface PreparedFilter {
  /** The only feasible nodes, if known beforehand. */
  readonly nodes?: ReadonlySet<string>;
  /**
   * Everything that the result of `filter` depends on beside the node itself; not set if it depends on more of the
   * cluster.
   */
  readonly signature?: string;
  /** Filters a node. Without it all nodes, or all of `nodes`, are feasible. */
  filter?(node: NodeInfo): Rejection | undefined;
  /**
   * Filters a node that all filters accept, where that takes long. From then on, `filter` returns the same for the node
   * as long as it holds.
   */
  evaluate?(node: NodeInfo): Steps<Rejection | undefined>;
  /** Called where no node is feasible: may release what would help. Returns a part of the failure message. */
  release?(): string;
  /** Updates the prepared state for a pod that is added to or removed from the node, until the reverse is called. */
  add?(pod: PodInfo, node: NodeInfo): void;
  remove?(pod: PodInfo, node: NodeInfo): void;
  /** Reserves what the pod needs on the selected node; undefined if it needs nothing. */
  reserve?(node: NodeInfo): Reservation | undefined;
}

/**
 * An event that may make a pod schedulable which the plugin rejected. Objects are of the event's kind; `old` is
 * undefined for an addition, `now` for a deletion.
 */
export interface QueueingHint {
  readonly on: readonly EventKind[];
  /**
   * Whether to requeue this pod on this event; always if not set. A method (bivariant), as each event has objects of
   * its own kind.
   */
  shouldQueue?(pod: PodInfo, old: Frozen<KubeObject> | undefined, now: Frozen<KubeObject> | undefined, cluster: Cluster): boolean;
}

/** The hints of a plugin on an event. */
export interface PluginQueueingHint {
  readonly plugin: PluginName;
  /** Whether the event may make a pod schedulable which the plugin rejected. */
  helps(pod: PodInfo, event: ClusterEvent): boolean;
}

/** A part of a signature. Plugins that read the same of a pod have the same fragment. */
export interface SignatureFragment {
  /** A path below the type of pods, as upstream names it. */
  readonly key: string;
  /**
   * Returns a JSON value in which lists are sorted where their order does not matter; undefined leaves the fragment
   * out.
   */
  value(pod: PodInfo, cluster: Cluster): MaybeSteps<unknown>;
}

/**
 * What a plugin adds to the signature of a pod. Pods with the same have the same feasible nodes and scores (KEP-5598).
 */
export interface PluginSignature {
  /** Whether the plugin decides by more than the pod and the node, so that the pod has no signature. */
  refuses?(pod: PodInfo, cluster: Cluster): boolean;
  readonly fragments: readonly SignatureFragment[];
}

/** Filters nodes. A pure function of the pod and the cluster. */
export interface Filter {
  readonly plugin: PluginName;
  /**
   * Prepares the filter for one pod: returns a prepared filter, a rejection of every node, or undefined if the filter
   * does not apply. In steps where it visits every node.
   */
  prepare(pod: PodInfo, cluster: Cluster): MaybeSteps<PreparedFilter | Rejection | undefined>;
  /** What it reads of a pod, by which pods are compared; without it pods of a profile with this plugin are not. */
  readonly sign?: PluginSignature;
  /** Whether a pod is not to be tried at all before one of the events of `hints` has helped it. */
  gates?(pod: PodInfo, cluster: Cluster): boolean;
  readonly hints: readonly QueueingHint[];
}

/** Whether a pod that has a node may be bound to it. */
export type PermitVerdict =
  | 'allow'
  /** It may, and so may these that wait. */
  | {readonly allow: readonly string[]}
  /** It waits, for a limited time; these pending pods are tried at once. */
  | {readonly waitMs: number; readonly activate: readonly string[]};

/** Makes pods wait between the decision for a node and the binding. */
export interface Permit {
  readonly plugin: PluginName;
  /** Whether a pod is not to be tried at all before one of the events of `hints` has helped it. */
  gates(pod: PodInfo, cluster: Cluster): boolean;
  readonly hints: readonly QueueingHint[];
  /** Notes that a node is reserved for the pod. Returns what takes that back. */
  reserve(pod: PodInfo, cluster: Cluster): () => void;
  /** Decides on a pod whose node is reserved. Throws if that is not possible. */
  permit(pod: PodInfo, cluster: Cluster): PermitVerdict;
}

/** A score prepared for one pod and the feasible nodes. */
export interface NodeScorer {
  /**
   * Everything that the result of `score` depends on beside the node itself; not set if it depends on more of the
   * cluster.
   */
  readonly signature?: string;
  /** Returns the score of a node, in units of the plugin. */
  score(node: NodeInfo): number;
  /**
   * Normalizes the scores of all nodes, in the order of `nodes`, to 0 to 100. Not set if they are in this range
   * already.
   */
  normalize?(scores: number[], nodes: readonly NodeInfo[]): void;
}

/** Scores feasible nodes. */
export interface Score {
  readonly plugin: PluginName;
  readonly weight: number;
  /** Returns undefined where all nodes score the same. In steps where it visits every node. */
  prepare(pod: PodInfo, nodes: readonly NodeInfo[], cluster: Cluster): MaybeSteps<NodeScorer | undefined>;
  /** As that of a filter. */
  readonly sign?: PluginSignature;
}

export const isRejection = (outcome: PreparedFilter | Rejection | undefined): outcome is Rejection =>
  outcome !== undefined && 'reasons' in outcome;
