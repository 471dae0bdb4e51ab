import type {Frozen} from '#src/api/key.js';
import type {Pod, PodAffinityTerm} from '#src/api/pod.js';
import {labelSelectorOf, type LabelSelector} from '#src/api/selectors/label-selector.js';

/** A term of a pod's affinity or anti-affinity, parsed for matching. */
export interface AffinityTerm {
  readonly selector: LabelSelector;
  /** Names of namespaces; those that `namespaceSelector` matches are added. */
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: LabelSelector;
  readonly topologyKey: string;
}
export interface WeightedTerm extends AffinityTerm {
  readonly weight: number;
}

/** The affinity terms of one pod. */
export interface AffinityTerms {
  readonly required: readonly AffinityTerm[];
  readonly requiredAnti: readonly AffinityTerm[];
  readonly preferred: readonly WeightedTerm[];
  readonly preferredAnti: readonly WeightedTerm[];
}

const none: AffinityTerms = {required: [], requiredAnti: [], preferred: [], preferredAnti: []};

/** A term without namespaces and namespace selector applies to the pod's own namespace. */
const termOf = (term: Frozen<PodAffinityTerm>, own: string): AffinityTerm => ({
  selector: labelSelectorOf(term.labelSelector),
  namespaces: new Set(!term.namespaces?.length && !term.namespaceSelector ? [own] : term.namespaces),
  namespaceSelector: labelSelectorOf(term.namespaceSelector),
  topologyKey: term.topologyKey,
});

/** Parses the affinity terms of a pod. Throws a 400 for a malformed selector. */
export const affinityTermsOf = ({metadata, spec}: Frozen<Pod>): AffinityTerms => {
  const {podAffinity, podAntiAffinity} = spec?.affinity ?? {};
  if (!podAffinity && !podAntiAffinity) return none;
  const own = metadata?.namespace ?? '';
  const hard = (terms: readonly Frozen<PodAffinityTerm>[] = []) => terms.map(term => termOf(term, own));
  type Weighted = readonly {readonly weight: number; readonly podAffinityTerm: Frozen<PodAffinityTerm>}[];
  const soft = (terms: Weighted = []) => terms.map(({weight, podAffinityTerm}) => ({...termOf(podAffinityTerm, own), weight}));
  return {
    required: hard(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    requiredAnti: hard(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    preferred: soft(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
    preferredAnti: soft(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
  };
};

/** Returns the labels of a namespace, if it is known. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | undefined;

/** Whether a term matches a pod. */
export const matchesAffinityTerm = (
  term: AffinityTerm,
  {namespace, labels}: {readonly namespace: string; readonly labels: Readonly<Record<string, string>>},
  labelsOf: NamespaceLabels,
): boolean => {
  const {namespaces, namespaceSelector, selector} = term;
  // An empty selector matches every namespace, including one that is not in the cache yet.
  const isInNamespace =
    namespaces.has(namespace) ||
    namespaceSelector.empty ||
    (namespaceSelector.requirements.length > 0 && namespaceSelector.matches(labelsOf(namespace)));
  return isInNamespace && selector.matches(labels);
};
