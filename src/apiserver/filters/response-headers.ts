import type {ApiResponse} from '#src/api/request.js';
import {andThen} from '#src/base/eventually.js';
import {warningHeaders} from '#src/apiserver/request/warnings.js';
import type {Filter, Received} from './filter.js';

/** Adds the headers that every response has, the warnings, and the headers of other filters. */
export const withResponseHeaders: Filter<Received, Received> = next => received =>
  andThen(next(received), answer => {
    addHeaders(answer.response, received);
    return answer;
  });

export const addHeaders = ({headers}: ApiResponse, received: Pick<Received, 'auditId' | 'headers' | 'warnings'>): void => {
  Object.assign(headers, received.headers);
  headers['Audit-Id'] = received.auditId;
  headers['Cache-Control'] ??= 'no-cache, private';
  if (received.warnings.size > 0) headers['Warning'] = [...warningHeaders(received.warnings), ...[headers['Warning'] ?? []].flat()];
};
