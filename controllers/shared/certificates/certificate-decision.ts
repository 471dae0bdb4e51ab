import {conditionOf, type CachedRequest} from './certificate-requests.js';

/** Whether nobody has decided on a request. */
export const isUndecided = (csr: Pick<CachedRequest, 'status'>): boolean => !conditionOf(csr, 'Approved') && !conditionOf(csr, 'Denied');
