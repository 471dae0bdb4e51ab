import type {Frozen} from '#src/api/key.js';
import type {NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec} from '#src/api/pod.js';
import {meets, type LabelOperator} from '#src/api/selectors/requirement.js';
import type {Node} from '#src/api/types.js';

type Spec = Frozen<Pick<PodSpec, 'affinity' | 'nodeSelector'>>;

const operators: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
  Gt: 'gt',
  Lt: 'lt',
};

const requirementMatches = (
  {key, operator, values = []}: Frozen<NodeSelectorRequirement>,
  of: Readonly<Record<string, string>>,
): boolean => {
  const known = operators[operator];
  return known !== undefined && meets({key, operator: known, values}, of);
};

/** Whether a node matches a node selector term. An empty term matches no node. */
export const matchesTerm = ({matchExpressions = [], matchFields = []}: Frozen<NodeSelectorTerm>, {metadata}: Frozen<Node>): boolean => {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const labels = metadata?.labels ?? {};
  const fields = {'metadata.name': metadata?.name ?? ''};
  return matchExpressions.every(one => requirementMatches(one, labels)) && matchFields.every(one => requirementMatches(one, fields));
};

/** Whether a node matches any of the terms. */
export const matchesNodeSelector = ({nodeSelectorTerms}: Frozen<NodeSelector>, node: Frozen<Node>): boolean =>
  nodeSelectorTerms.some(term => matchesTerm(term, node));

/** Returns the required node affinity of a pod, if any. */
export const requiredTerms = ({affinity}: Spec): Frozen<NodeSelector> | undefined =>
  affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;

/** Whether a node matches the pod's node selector and required node affinity. */
export const matchesNode = (spec: Spec, node: Frozen<Node>): boolean => {
  const labels = node.metadata?.labels ?? {};
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {}))
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  const required = requiredTerms(spec);
  return !required || matchesNodeSelector(required, node);
};
