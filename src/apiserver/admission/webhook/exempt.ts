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

/** Whether a request is about what says who is asked: nobody is asked about that, lest it could not be set right again. */
export const isExempt = ({group, kind}: AdmissionAttributes, naming: Naming): boolean => group === naming.group('admissionregistration') && kinds.has(kind);
