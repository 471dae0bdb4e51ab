import type {Frozen} from '#src/api/key.js';
import type {TopologySpreadConstraint} from '#src/api/pod.js';
import type {Naming} from '#src/api/naming.js';
import {labelSelector, labelSelectorOf, type LabelSelector} from '#src/api/selectors/label-selector.js';
import {matchesNode, requiredTerms} from '#src/model/node-affinity.js';
import {untolerated} from '#src/model/taints.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Cluster} from '#src/scheduler/framework/plugin.js';
import {selectorOfOwners} from './owners.js';

/** A topology spread constraint of a pod. */
export interface Constraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly minDomains: number;
  readonly selector: LabelSelector;
  readonly honoursAffinity: boolean;
  readonly honoursTaints: boolean;
}

export type UnsatisfiableAction = 'DoNotSchedule' | 'ScheduleAnyway';

/** Returns the selector, restricted to pods with the same values for the match label keys. */
const withMatchLabelKeys = (selector: LabelSelector, keys: readonly string[], {labels}: PodInfo): LabelSelector => {
  const shared = keys.filter(key => Object.hasOwn(labels, key)).map(key => ({key, operator: 'in' as const, values: [labels[key]!]}));
  return shared.length > 0 ? labelSelector([...selector.requirements, ...shared]) : selector;
};

const constraintOf = (of: Frozen<TopologySpreadConstraint>, pod: PodInfo, {gate}: Cluster): Constraint => ({
  maxSkew: of.maxSkew,
  topologyKey: of.topologyKey,
  minDomains: of.minDomains ?? 1,
  selector: withMatchLabelKeys(
    labelSelectorOf(of.labelSelector),
    gate('MatchLabelKeysInPodTopologySpread') ? (of.matchLabelKeys ?? []) : [],
    pod,
  ),
  honoursAffinity: (of.nodeAffinityPolicy ?? 'Honor') === 'Honor',
  honoursTaints: of.nodeTaintsPolicy === 'Honor',
});

/** Returns the pod's own constraints with this action. */
export const ownConstraints = (pod: PodInfo, when: UnsatisfiableAction, cluster: Cluster): Constraint[] =>
  (pod.pod.spec?.topologySpreadConstraints ?? [])
    .filter(({whenUnsatisfiable}) => whenUnsatisfiable === when)
    .map(each => constraintOf(each, pod, cluster));

/** A default constraint for pods that state none; it applies to the pods of their service or owner. */
export interface DefaultConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly when: UnsatisfiableAction;
}

/** The system's default constraints: soft spreading over zones and nodes. */
export const systemConstraints = (naming: Naming): readonly DefaultConstraint[] => [
  {topologyKey: naming.labels.hostname, maxSkew: 3, when: 'ScheduleAnyway'},
  {topologyKey: naming.subKey('topology', 'zone'), maxSkew: 5, when: 'ScheduleAnyway'},
];

/** Returns the default constraints with this action; empty for a pod without service and owner. */
export const defaultConstraints = (
  pod: PodInfo,
  defaults: readonly DefaultConstraint[],
  when: UnsatisfiableAction,
  cluster: Cluster,
): Constraint[] => {
  const chosen = defaults.filter(constraint => constraint.when === when);
  const selector = chosen.length > 0 ? selectorOfOwners(pod, cluster) : undefined;
  if (!selector || selector.empty) return [];
  return chosen.map(({topologyKey, maxSkew}) => ({
    topologyKey,
    maxSkew,
    minDomains: 1,
    selector,
    honoursAffinity: true,
    honoursTaints: false,
  }));
};

/** Whether a node has the topology keys of all constraints. */
export const hasTopologyKeys = (labels: Readonly<Record<string, string>>, constraints: readonly Constraint[]): boolean =>
  constraints.every(({topologyKey}) => labels[topologyKey] !== undefined);

/** Returns whether pods on a node are counted, by the constraint's node inclusion policies. */
export const nodeInclusion = ({honoursAffinity, honoursTaints}: Constraint, {pod: {spec}}: PodInfo): ((node: NodeInfo) => boolean) => {
  const isSelective = honoursAffinity && Boolean(spec?.nodeSelector ?? requiredTerms(spec!));
  return ({node}) => {
    if (!node || (isSelective && !matchesNode(spec!, node))) return false;
    return !honoursTaints || untolerated(node.spec?.taints, spec?.tolerations, 'NoSchedule', 'NoExecute') === undefined;
  };
};
