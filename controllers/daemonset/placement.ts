import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Affinity, Pod, PodSpec, PodTemplateSpec, Toleration} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {matchesNode} from '#src/model/node-affinity.js';
import {untolerated} from '#src/model/taints.js';
import {generationLabel, hashLabel, templateGeneration, type DaemonSet} from './kinds.js';

/**
 * Returns the tolerations that the controller adds to daemon pods: they run before nodes are ready, and stay when they
 * are not.
 */
const defaultTolerations = (naming: Naming, {hostNetwork}: Frozen<PodSpec>): Toleration[] => {
  const of = (name: string, effect: string): Toleration => ({key: naming.subKey('node', name), operator: 'Exists', effect});
  return [
    of('not-ready', 'NoExecute'),
    of('unreachable', 'NoExecute'),
    of('disk-pressure', 'NoSchedule'),
    of('memory-pressure', 'NoSchedule'),
    of('pid-pressure', 'NoSchedule'),
    of('unschedulable', 'NoSchedule'),
    ...(hostNetwork ? [of('network-unavailable', 'NoSchedule')] : []),
  ];
};

const isSame = (a: Frozen<Toleration>, b: Frozen<Toleration>): boolean =>
  a.key === b.key &&
  (a.effect ?? '') === (b.effect ?? '') &&
  (a.operator ?? '') === (b.operator ?? '') &&
  (a.value ?? '') === (b.value ?? '');

/**
 * Returns the template's tolerations with the added ones; an equal one keeps its position, but loses its time limit.
 */
const daemonTolerations = (spec: Frozen<PodSpec>, naming: Naming): readonly Frozen<Toleration>[] => {
  const added = defaultTolerations(naming, spec);
  const own = (spec.tolerations ?? []).map(toleration => added.find(each => isSame(each, toleration)) ?? toleration);
  return [...own, ...added.filter(each => !own.some(toleration => isSame(toleration, each)))];
};

/** The placement of a set on a node. */
export interface Placement {
  /** Whether a pod is to be created there. */
  readonly shouldRun: boolean;
  /** Whether an existing pod may stay. */
  readonly shouldStay: boolean;
}

const noPlacement: Placement = {shouldRun: false, shouldStay: false};

/** Returns the function that computes the placement of a set on a node. To be created once for many nodes. */
export const placementOf = ({spec}: DaemonSet, naming: Naming): ((node: Frozen<Node>) => Placement) => {
  const pod = spec?.template.spec ?? {containers: []};
  const tolerations = daemonTolerations(pod, naming);
  return node => {
    if (pod.nodeName && pod.nodeName !== node.metadata?.name) return noPlacement;
    if (!matchesNode(pod, node)) return noPlacement;
    const taints = node.spec?.taints;
    if (!untolerated(taints, tolerations, 'NoExecute', 'NoSchedule')) return {shouldRun: true, shouldStay: true};
    return {shouldRun: false, shouldStay: !untolerated(taints, tolerations, 'NoExecute')};
  };
};

const nameField = 'metadata.name';

/** Returns the affinity that pins a pod to one node; other required terms stay. */
const pinnedToNode = (affinity: Frozen<Affinity> | undefined, node: string): Frozen<Affinity> => {
  const matchFields = [{key: nameField, operator: 'In', values: [node]}];
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const nodeSelectorTerms = terms.length > 0 ? terms.map(term => ({...term, matchFields})) : [{matchFields}];
  return {...affinity, nodeAffinity: {...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms}}};
};

/** Returns the node that a pod is bound or pinned to; undefined if there is none. */
export const nodeOf = ({spec}: Frozen<Pod>): string | undefined => {
  if (spec?.nodeName) return spec.nodeName;
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const named = terms
    .flatMap(({matchFields = []}) => matchFields)
    .find(({key, operator, values}) => key === nameField && operator === 'In' && values?.length === 1);
  return named?.values?.[0];
};

/** Returns the function that creates the pod template for a node. */
export const templateFor = (set: DaemonSet, hash: string, naming: Naming): ((node: string) => Frozen<PodTemplateSpec>) => {
  const {metadata, spec = {containers: []}} = set.spec!.template;
  const generation = templateGeneration(set);
  const labels = {
    ...metadata?.labels,
    ...(generation === undefined ? {} : {[generationLabel]: generation}),
    ...(hash ? {[hashLabel]: hash} : {}),
  };
  const tolerations = daemonTolerations(spec, naming);
  return node => ({metadata: {...metadata, labels}, spec: {...spec, tolerations, affinity: pinnedToNode(spec.affinity, node)}});
};
