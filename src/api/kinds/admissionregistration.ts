import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const admissionregistrationKinds = {
  mutatingWebhookConfigurations: kind<Wire<upstream.V1MutatingWebhookConfiguration>>(
    'admissionregistration',
    'v1',
    'MutatingWebhookConfiguration',
    'mutatingwebhookconfigurations',
    false,
  ),
  validatingAdmissionPolicies: kind<Wire<upstream.V1ValidatingAdmissionPolicy>>(
    'admissionregistration',
    'v1',
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
    false,
  ),
  validatingAdmissionPolicyBindings: kind<Wire<upstream.V1ValidatingAdmissionPolicyBinding>>(
    'admissionregistration',
    'v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    false,
  ),
  validatingWebhookConfigurations: kind<Wire<upstream.V1ValidatingWebhookConfiguration>>(
    'admissionregistration',
    'v1',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
    false,
  ),
  mutatingAdmissionPolicies: kind<Wire<upstream.V1beta1MutatingAdmissionPolicy>>(
    'admissionregistration',
    'v1beta1',
    'MutatingAdmissionPolicy',
    'mutatingadmissionpolicies',
    false,
    '1.34',
  ),
  mutatingAdmissionPoliciesV1alpha1: kind<Wire<upstream.V1alpha1MutatingAdmissionPolicy>>(
    'admissionregistration',
    'v1alpha1',
    'MutatingAdmissionPolicy',
    'mutatingadmissionpolicies',
    false,
    '1.32',
  ),
  mutatingAdmissionPolicyBindings: kind<Wire<upstream.V1beta1MutatingAdmissionPolicyBinding>>(
    'admissionregistration',
    'v1beta1',
    'MutatingAdmissionPolicyBinding',
    'mutatingadmissionpolicybindings',
    false,
    '1.34',
  ),
  mutatingAdmissionPolicyBindingsV1alpha1: kind<Wire<upstream.V1alpha1MutatingAdmissionPolicyBinding>>(
    'admissionregistration',
    'v1alpha1',
    'MutatingAdmissionPolicyBinding',
    'mutatingadmissionpolicybindings',
    false,
    '1.32',
  ),
} as const;
