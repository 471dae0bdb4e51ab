import type {ApiResponse} from '#src/api/request.js';
import {andThen} from '#src/base/eventually.js';
import type {RequestLog} from '#src/apiserver/request/request-log.js';
import type {Filter} from './filter.js';
import type {Received} from './stages.js';

/** Logs requests at higher verbosities. */
export const withLog =
  (log: RequestLog): Filter<Received, Received, ApiResponse> =>
  next =>
  received =>
    andThen(next(received), response => {
      const {request, info, auditId, times} = received;
      log.answered(request, info, {response, auditId, startedAt: times.startedAt, flow: () => received.flowLogFields?.() ?? {}});
      return response;
    });
