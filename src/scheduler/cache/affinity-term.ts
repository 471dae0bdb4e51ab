import type {Frozen} from '#src/api/key.js';
import type {Pod, PodAffinityTerm} from '#src/api/pod.js';
import {labelSelectorOf, type LabelSelector} from '#src/api/selectors/label-selector.js';

/** What a pod asks of the pods near it, ready to be matched. */
export interface AffinityTerm {
  readonly selector: LabelSelector;
  /** Names of namespaces; those that the selector of namespaces describes come on top. */
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: LabelSelector;
  readonly topologyKey: string;
}
export interface WeightedTerm extends AffinityTerm {
  readonly weight: number;
}

/** The terms of one pod by what they demand. */
export interface AffinityTerms {
  readonly required: readonly AffinityTerm[];
  readonly requiredAnti: readonly AffinityTerm[];
  readonly preferred: readonly WeightedTerm[];
  readonly preferredAnti: readonly WeightedTerm[];
}

const none: AffinityTerms = {required: [], requiredAnti: [], preferred: [], preferredAnti: []};

/** A term without any namespace speaks of the pod's own. */
const termOf = (term: Frozen<PodAffinityTerm>, own: string): AffinityTerm => ({
  selector: labelSelectorOf(term.labelSelector),
  namespaces: new Set(!term.namespaces?.length && !term.namespaceSelector ? [own] : term.namespaces),
  namespaceSelector: labelSelectorOf(term.namespaceSelector),
  topologyKey: term.topologyKey,
});

/** Reads the terms of a pod. Throws a 400 for a malformed selector. */
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

/** The labels of a namespace, as far as they are known. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | undefined;

/** Whether a term speaks of a pod. */
export const matchesAffinityTerm = (term: AffinityTerm, {namespace, labels}: {readonly namespace: string; readonly labels: Readonly<Record<string, string>>}, labelsOf: NamespaceLabels): boolean => {
  const {namespaces, namespaceSelector, selector} = term;
  // An empty selector describes every namespace, also one that is not known yet.
  const isInNamespace = namespaces.has(namespace) || namespaceSelector.empty || (namespaceSelector.requirements.length > 0 && namespaceSelector.matches(labelsOf(namespace)));
  return isInNamespace && selector.matches(labels);
};
