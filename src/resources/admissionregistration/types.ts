import type {kinds, ObjectOf} from '#src/api/kinds/index.js';

export type ValidatingWebhook = NonNullable<ObjectOf<typeof kinds.validatingWebhookConfigurations>['webhooks']>[number];
export type MutatingWebhook = NonNullable<ObjectOf<typeof kinds.mutatingWebhookConfigurations>['webhooks']>[number];
/** A webhook of either configuration kind. */
export type Webhook = ValidatingWebhook & Partial<Pick<MutatingWebhook, 'reinvocationPolicy'>>;
export type Rule = NonNullable<Webhook['rules']>[number];
export type MatchCondition = NonNullable<Webhook['matchConditions']>[number];

export type ValidatingPolicy = ObjectOf<typeof kinds.validatingAdmissionPolicies>;
export type ValidatingPolicySpec = NonNullable<ValidatingPolicy['spec']>;
export type ValidatingBinding = ObjectOf<typeof kinds.validatingAdmissionPolicyBindings>;
export type MutatingPolicy = ObjectOf<typeof kinds.mutatingAdmissionPolicies>;
export type MutatingPolicySpec = NonNullable<MutatingPolicy['spec']>;
export type MutatingBinding = ObjectOf<typeof kinds.mutatingAdmissionPolicyBindings>;
export type MatchResources = NonNullable<ValidatingPolicySpec['matchConstraints']>;
export type NamedRule = NonNullable<MatchResources['resourceRules']>[number];
export type ParamKind = NonNullable<ValidatingPolicySpec['paramKind']>;
export type ParamRef = NonNullable<NonNullable<ValidatingBinding['spec']>['paramRef']>;
export type Variable = NonNullable<ValidatingPolicySpec['variables']>[number];
