import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {defineResource} from '#src/resources/definition.js';
import {sameFieldsVersion} from '#src/resources/versions.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {defaultMatching, validateMatching, validateMutableOperations, validateParamRef, validatePolicyName} from './matching.js';
import {mayUseParams} from './permission.js';
import type {MutatingBinding} from './types.js';
import {bindingColumns} from './validatingadmissionpolicybinding.js';

/** v1alpha1 denies requests with missing parameters by default. */
const defaultParamRef = (binding: KubeObject): void => {
  const paramRef = (binding as MutatingBinding).spec?.paramRef;
  if (paramRef) paramRef.parameterNotFoundAction ??= 'Deny';
};

/** MutatingAdmissionPolicyBinding: applies a mutating policy to matching requests, with parameters. */
export const mutatingAdmissionPolicyBindings = defineResource<MutatingBinding>({
  kind: kinds.mutatingAdmissionPolicyBindings,
  discovery: {categories: ['api-extensions']},
  served: {
    otherVersions: [
      sameFieldsVersion(kinds.mutatingAdmissionPolicyBindingsV1alpha1, {
        deprecation: {since: 'v1.35', until: 'v1.38'},
        default: defaultParamRef,
      }),
    ],
  },
  metadata: {nameProblems: subdomainName, anyFinalizers: true, generation: true},
  update: {unconditional: false},
  default: ({spec}) => defaultMatching(spec?.matchResources),
  main: {
    metadata: 'whole',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    *validate({spec}) {
      yield* validatePolicyName(spec?.policyName, 'spec.policyName');
      yield* validateParamRef(spec?.paramRef, 'spec.paramRef');
      yield* validateMatching(spec?.matchResources, 'spec.matchResources');
      yield* validateMutableOperations(spec?.matchResources, 'spec.matchResources');
    },
    authorize: mayUseParams(kinds.mutatingAdmissionPolicies),
  },
  presentation: {columns: bindingColumns<MutatingBinding>()},
});
