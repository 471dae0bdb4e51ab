import type {GroupFacts} from './form.js';

/** What the field tables of `admissionregistration` do not say by themselves. */
export const admissionregistration: GroupFacts = {
  v1: {
    MatchResources: {'*': 'atomic', excludeResourceRules: 'atomic', resourceRules: 'atomic'},
    MutatingWebhook: {admissionReviewVersions: 'atomic', matchConditions: 'map(name) patch=merge(name)', rules: 'atomic', sideEffects: 'none'},
    MutatingWebhookConfiguration: {webhooks: 'map(name) patch=merge(name)'},
    NamedRuleWithOperations: {
      '*': 'atomic',
      apiGroups: 'atomic',
      apiVersions: 'atomic',
      operations: 'atomic',
      resourceNames: 'atomic',
      resources: 'atomic',
    },
    ParamKind: {'*': 'atomic'},
    ParamRef: {'*': 'atomic'},
    RuleWithOperations: {apiGroups: 'atomic', apiVersions: 'atomic', operations: 'atomic', resources: 'atomic'},
    TypeChecking: {expressionWarnings: 'atomic'},
    ValidatingAdmissionPolicyBindingSpec: {validationActions: 'set'},
    ValidatingAdmissionPolicySpec: {
      auditAnnotations: 'atomic',
      matchConditions: 'map(name) patch=merge(name)',
      validations: 'atomic',
      variables: 'map(name) patch=merge(name)',
    },
    ValidatingAdmissionPolicyStatus: {conditions: 'map(type)'},
    ValidatingWebhook: {admissionReviewVersions: 'atomic', matchConditions: 'map(name) patch=merge(name)', rules: 'atomic', sideEffects: 'none'},
    ValidatingWebhookConfiguration: {webhooks: 'map(name) patch=merge(name)'},
    Variable: {'*': 'atomic'},
  },
  v1alpha1: {
    MatchResources: {'*': 'atomic', excludeResourceRules: 'atomic', resourceRules: 'atomic'},
    MutatingAdmissionPolicySpec: {matchConditions: 'map(name) patch=merge(name)', mutations: 'atomic', variables: 'atomic'},
    NamedRuleWithOperations: {
      '*': 'atomic',
      apiGroups: 'atomic',
      apiVersions: 'atomic',
      operations: 'atomic',
      resourceNames: 'atomic',
      resources: 'atomic',
    },
    ParamKind: {'*': 'atomic'},
    ParamRef: {'*': 'atomic'},
  },
  v1beta1: {
    MatchResources: {'*': 'atomic', excludeResourceRules: 'atomic', resourceRules: 'atomic'},
    MutatingAdmissionPolicySpec: {matchConditions: 'map(name) patch=merge(name)', mutations: 'atomic', variables: 'atomic'},
    NamedRuleWithOperations: {
      '*': 'atomic',
      apiGroups: 'atomic',
      apiVersions: 'atomic',
      operations: 'atomic',
      resourceNames: 'atomic',
      resources: 'atomic',
    },
    ParamKind: {'*': 'atomic'},
    ParamRef: {'*': 'atomic'},
    Variable: {'*': 'atomic'},
  },
};
