import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Source} from '#informers/selection.js';
import type {Lister} from '#informers/lister.js';
import type {KubeObject} from '#src/api/types.js';
import type {Stepwise} from '#src/base/steps.js';
import type {NamespaceLabels} from './cache/affinity-term.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodCounts} from './cache/pod-counts.js';
import type {PodInfo} from './cache/pod-info.js';
import type {DeviceReserver} from './devices.js';
import type {EventKind} from './events.js';
import type {Reservation} from './reservation.js';
import type {VolumeBinder} from './volumes/binder.js';

/** The parts that judge, by the names that metrics and configuration know. */
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
  | 'DefaultPreemption'
  | 'NodeResourcesBalancedAllocation'
  | 'ImageLocality'
  /** Stands for the lack of any node. */
  | 'NoNodes';

/** Why a node, or every node, does not do for a pod. */
export interface Rejection {
  readonly reasons: readonly string[];
  /** Whether it would stay so if all pods left the node. */
  readonly unresolvable: boolean;
}

/** A rejection that pods leaving the node may lift. */
export const unschedulable = (...reasons: string[]): Rejection => ({reasons, unresolvable: false});
/** A rejection that nothing lifts but a change of the node or the pod. */
export const unresolvable = (...reasons: string[]): Rejection => ({reasons, unresolvable: true});

/** The state of the world that decisions are made from. Nodes and the pods on them do not change while one is made. */
export interface Cluster {
  readonly naming: Naming;
  /** Every node, in the order they are looked at. */
  readonly nodes: readonly NodeInfo[];
  node(name: string): NodeInfo | undefined;
  nodesWithImage(name: string): number;
  readonly labelsOf: NamespaceLabels;
  readonly counts: PodCounts;
  /** Claims and volumes as they will be, and the way to bind them. */
  readonly volumes: VolumeBinder;
  readonly devices: DeviceReserver;
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  gate(name: string): boolean;
}

/** What a filter has made ready for one pod. */
export interface PreparedFilter {
  /** The only nodes that can do, where that is known beforehand. */
  readonly nodes?: ReadonlySet<string>;
  /** Judges a node; without it every node, or every one of `nodes`, does. */
  filter?(node: NodeInfo): Rejection | undefined;
  /** Takes a pod into account that is not on the node, or leaves out one that is, until the reverse is called. */
  add?(pod: PodInfo, node: NodeInfo): void;
  remove?(pod: PodInfo, node: NodeInfo): void;
  /** Gives the pod what it needs on the node that was chosen; nothing where it needs nothing. */
  reserve?(node: NodeInfo): Reservation | undefined;
}

/** What may have happened to make a pod fit that a plugin rejected. Objects are of the event's kind; `old` is absent for an addition, `now` for a deletion. */
export interface QueueingHint {
  readonly on: readonly EventKind[];
  /** Whether this event may help this pod; always, unless given. Method syntax: events carry objects of their own kind. */
  shouldQueue?(pod: PodInfo, old: Frozen<KubeObject> | undefined, now: Frozen<KubeObject> | undefined, cluster: Cluster): boolean;
}

/** Judges nodes, or decides beforehand. A pure function of the pod and the cluster. */
export interface Filter {
  readonly plugin: PluginName;
  /** Makes ready for one pod: a check, a rejection of every node, or nothing where there is nothing to judge. In steps where it looks at every node. */
  prepare(pod: PodInfo, cluster: Cluster): Stepwise<PreparedFilter | Rejection | undefined>;
  readonly hints: readonly QueueingHint[];
}

/** What a score has made ready for one pod and the nodes that fit. */
export interface NodeScorer {
  /** How well a node does, in units of the plugin's own. */
  score(node: NodeInfo): number;
  /** Brings the scores of all nodes, in the order of the nodes, to 0 to 100; without it they are so already. */
  normalize?(scores: number[], nodes: readonly NodeInfo[]): void;
}

/** Compares nodes that fit. */
export interface Score {
  readonly plugin: PluginName;
  readonly weight: number;
  /** Nothing where all nodes do equally well. In steps where it looks at every node. */
  prepare(pod: PodInfo, nodes: readonly NodeInfo[], cluster: Cluster): Stepwise<NodeScorer | undefined>;
}

export const isRejection = (outcome: PreparedFilter | Rejection | undefined): outcome is Rejection => outcome !== undefined && 'reasons' in outcome;
