import type {Naming} from '#src/api/naming.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {isExempt} from '#src/apiserver/admission/webhook/exempt.js';

const reviews = {
  authentication: ['selfsubjectreviews', 'tokenreviews'],
  authorization: ['localsubjectaccessreviews', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'],
} as const;

/** Whether a request is exempt from policies: it concerns admission configuration itself, or is a review. */
export const isExcluded = (attributes: AdmissionAttributes, naming: Naming): boolean =>
  isExempt(attributes, naming) ||
  (['authentication', 'authorization'] as const).some(
    group => attributes.group === naming.group(group) && reviews[group].some(resource => resource === attributes.resource),
  );
