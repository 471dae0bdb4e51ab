import type {Naming} from '#src/api/naming.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {isExempt} from '#src/apiserver/admission/webhook/exempt.js';

const reviews = {
  authentication: ['selfsubjectreviews', 'tokenreviews'],
  authorization: ['localsubjectaccessreviews', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'],
} as const;

/** Whether no policy is held against a request: it is about what says who is asked, or it only asks who somebody is and what he may do. */
export const isExcluded = (attributes: AdmissionAttributes, naming: Naming): boolean =>
  isExempt(attributes, naming) ||
  (['authentication', 'authorization'] as const).some(group => attributes.group === naming.group(group) && reviews[group].some(resource => resource === attributes.resource));
