import type {CertificateSigningRequest, CertificateSigningRequestCondition} from '#src/api/types.js';

/**
 * Returns a condition that holds; approval, denial and failure hold unless they say they do not, as requests of v1beta1
 * have no status of conditions.
 */
export const conditionOf = ({status}: CertificateSigningRequest, type: string): CertificateSigningRequestCondition | undefined =>
  status?.conditions?.find(each => each.type === type && each.status !== 'False');
