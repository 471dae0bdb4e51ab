import type {Naming} from '#src/api/naming.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';

const kinds = new Set([
  'ValidatingWebhookConfiguration',
  'MutatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
]);

/**
 * Whether a request is for a webhook or policy configuration, for which webhooks are not called, so that it can always
 * be repaired.
 */
export const isExempt = ({group, kind}: AdmissionAttributes, naming: Naming): boolean =>
  group === naming.group('admissionregistration') && kinds.has(kind);
