import type {Frozen} from '#src/api/key.js';
import type {Pod, PodAffinityTerm} from '#src/api/pod.js';
import type {Steps} from '#src/base/steps.js';
import {labelSelectorOf, type LabelSelector} from '#src/api/selectors/label-selector.js';

/** A term without namespaces and namespace selector applies to the pod's own namespace. */
const parsedTerm = ({labelSelector, namespaces, namespaceSelector}: Frozen<PodAffinityTerm>, own: string): ParsedTerm => ({
  selector: labelSelectorOf(labelSelector),
  namespaces: new Set(!namespaces?.length && !namespaceSelector ? [own] : namespaces),
  namespaceSelector: labelSelectorOf(namespaceSelector),
});

/**
 * A term of a pod's affinity or anti-affinity. Its selectors are parsed when they are needed: a pod may have ten
 * thousand terms.
 */
export class AffinityTerm {
  readonly topologyKey: string;
  readonly #term: Frozen<PodAffinityTerm>;
  /** The namespace of the pod. */
  readonly #own: string;
  #parsed: ParsedTerm | undefined;

  constructor(term: Frozen<PodAffinityTerm>, own: string) {
    this.#term = term;
    this.#own = own;
    this.topologyKey = term.topologyKey;
  }

  /** Returns the term for matching. Throws a 400 for a malformed selector. */
  parsed(): ParsedTerm {
    return (this.#parsed ??= parsedTerm(this.#term, this.#own));
  }
}

interface ParsedTerm {
  readonly selector: LabelSelector;
  /** Names of namespaces; those that `namespaceSelector` matches are added. */
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: LabelSelector;
}

export class WeightedTerm extends AffinityTerm {
  readonly weight: number;

  constructor({podAffinityTerm, weight}: Weighted, own: string) {
    super(podAffinityTerm, own);
    this.weight = weight;
  }
}

interface Weighted {
  readonly weight: number;
  readonly podAffinityTerm: Frozen<PodAffinityTerm>;
}

/** So many terms are matched with pods in one step. */
export const matchesPerStep = 1_000;

/** So many terms are parsed in one step. */
const parsedAtOnce = 100;

/** Parses terms in steps, before they are matched. Throws a 400 for a malformed selector. */
export const parseTerms = function* (terms: readonly AffinityTerm[]): Steps<void> {
  for (const [index, term] of terms.entries()) {
    term.parsed();
    if ((index + 1) % parsedAtOnce === 0) yield;
  }
};

/** The affinity terms of one pod. */
export interface AffinityTerms {
  readonly required: readonly AffinityTerm[];
  readonly requiredAnti: readonly AffinityTerm[];
  readonly preferred: readonly WeightedTerm[];
  readonly preferredAnti: readonly WeightedTerm[];
}

const none: AffinityTerms = {required: [], requiredAnti: [], preferred: [], preferredAnti: []};

/** Returns the affinity terms of a pod. */
export const affinityTermsOf = ({metadata, spec}: Frozen<Pod>): AffinityTerms => {
  const {podAffinity, podAntiAffinity} = spec?.affinity ?? {};
  if (!podAffinity && !podAntiAffinity) return none;
  const own = metadata?.namespace ?? '';
  const hard = (terms: readonly Frozen<PodAffinityTerm>[] = []) => terms.map(term => new AffinityTerm(term, own));
  const soft = (terms: readonly Weighted[] = []) => terms.map(term => new WeightedTerm(term, own));
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
  const {namespaces, namespaceSelector, selector} = term.parsed();
  // An empty selector matches every namespace, including one that is not in the cache yet.
  const isInNamespace =
    namespaces.has(namespace) ||
    namespaceSelector.empty ||
    (namespaceSelector.requirements.length > 0 && namespaceSelector.matches(labelsOf(namespace)));
  return isInNamespace && selector.matches(labels);
};
