// Policies and bindings, prepared once per change of their objects for evaluation on requests. Their expressions are
// compiled on first use.

import {labelSelectorOf, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import type {Criteria} from '#src/apiserver/admission/matching/match.js';
import type {MatchCondition, MatchResources, ParamKind, ParamRef, Variable} from '#src/resources/admissionregistration/types.js';

/** The common fields of policies of both kinds. */
export interface CommonSpec {
  readonly failurePolicy?: string;
  readonly paramKind?: ParamKind;
  readonly matchConstraints?: MatchResources;
  readonly matchConditions?: readonly MatchCondition[];
  readonly variables?: readonly Variable[];
}

/** The common fields of bindings of both kinds. */
export interface CommonBindingSpec {
  readonly policyName?: string;
  readonly paramRef?: ParamRef;
  readonly matchResources?: MatchResources;
  readonly validationActions?: readonly string[];
}

/** A binding, prepared for evaluation. */
export interface Binding {
  readonly name: string;
  readonly spec: CommonBindingSpec;
  /** Undefined if it matches all requests of its policy. */
  readonly criteria: Criteria | undefined;
}

/** A policy, prepared for evaluation. */
export interface Policy<S extends CommonSpec = CommonSpec> {
  readonly name: string;
  readonly spec: S;
  readonly criteria: Criteria;
  /** Whether requests are admitted when its evaluation fails. */
  readonly failsOpen: boolean;
}

/** A policy with at least one binding. */
export interface BoundPolicy<S extends CommonSpec = CommonSpec> {
  readonly policy: Policy<S>;
  /** Ordered by name. */
  readonly bindings: readonly Binding[];
}

const criteriaOf = (
  {resourceRules, excludeResourceRules, matchPolicy, namespaceSelector, objectSelector}: MatchResources,
  needsRules: boolean,
): Criteria => ({
  rules: needsRules || resourceRules?.length ? (resourceRules ?? []) : undefined,
  excluded: excludeResourceRules,
  matchPolicy,
  namespaceSelector: labelSelectorOf(namespaceSelector as LabelSelectorObject | undefined),
  objectSelector: labelSelectorOf(objectSelector as LabelSelectorObject | undefined),
});

export const policyOf = <S extends CommonSpec>({metadata, spec = {} as S}: Readonly<KubeObject> & {readonly spec?: S}): Policy<S> => ({
  name: metadata?.name ?? '',
  spec,
  criteria: criteriaOf(spec.matchConstraints ?? {}, true),
  failsOpen: spec.failurePolicy === 'Ignore',
});

export const bindingOf = ({metadata, spec = {}}: Readonly<KubeObject> & {readonly spec?: CommonBindingSpec}): Binding => ({
  name: metadata?.name ?? '',
  spec,
  criteria: spec.matchResources && criteriaOf(spec.matchResources, false),
});
