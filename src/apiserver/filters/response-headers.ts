import type {ApiResponse} from '#src/api/request.js';
import {andThen} from '#src/base/eventually.js';
import {warningHeaders} from '#src/apiserver/request/warnings.js';
import type {Filter} from './filter.js';
import type {Arrived, Received} from './stages.js';

/** Adds the headers that every response has, the warnings, and the headers of other filters. */
export const withResponseHeaders: Filter<Received, Received> = next => received =>
  andThen(next(received), answer => {
    addHeaders(answer.response, received);
    return answer;
  });

export const addHeaders = ({headers}: ApiResponse, arrived: Arrived): void => {
  for (const name in arrived.headers) headers[name] = arrived.headers[name]!;
  headers['Audit-Id'] = arrived.auditId;
  headers['Cache-Control'] ??= 'no-cache, private';
  if (arrived.warnings.size > 0) headers['Warning'] = [...warningHeaders(arrived.warnings), ...[headers['Warning'] ?? []].flat()];
};
