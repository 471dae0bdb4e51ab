import {labelSelectorOf, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import type {Criteria} from '#src/apiserver/admission/matching/match.js';
import type {MatchCondition, MatchResources, ParamKind, ParamRef, Variable} from '#src/resources/admissionregistration/types.js';

/** What policies of both kinds have. */
export interface CommonSpec {
  readonly failurePolicy?: string;
  readonly paramKind?: ParamKind;
  readonly matchConstraints?: MatchResources;
  readonly matchConditions?: readonly MatchCondition[];
  readonly variables?: readonly Variable[];
}

/** What bindings of both kinds have. */
export interface CommonBindingSpec {
  readonly policyName?: string;
  readonly paramRef?: ParamRef;
  readonly matchResources?: MatchResources;
  readonly validationActions?: readonly string[];
}

/** An object that puts a policy into force, ready to be held against requests. */
export interface Binding {
  readonly name: string;
  readonly spec: CommonBindingSpec;
  /** Undefined where it is about all that its policy is about. */
  readonly criteria: Criteria | undefined;
}

/** A policy, ready to be held against requests. */
export interface Policy<S extends CommonSpec = CommonSpec> {
  readonly name: string;
  readonly spec: S;
  readonly criteria: Criteria;
  /** Whether requests go on where it cannot be judged. */
  readonly failsOpen: boolean;
}

/** A policy that is in force, by at least one binding. */
export interface BoundPolicy<S extends CommonSpec = CommonSpec> {
  readonly policy: Policy<S>;
  /** In the order of their names. */
  readonly bindings: readonly Binding[];
}

const criteriaOf = ({resourceRules, excludeResourceRules, matchPolicy, namespaceSelector, objectSelector}: MatchResources, needsRules: boolean): Criteria => ({
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
