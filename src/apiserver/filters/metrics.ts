import type {ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {andThen} from '#src/base/eventually.js';
import {DeadlineExceeded} from '#src/apiserver/request/deadline.js';
import type {RequestMetrics} from '#src/apiserver/request/metrics.js';
import {TooManyRequests} from '#src/apiserver/request/plain-refusal.js';
import type {Answer, Filter} from './filter.js';
import type {Received} from './stages.js';

/** Counts and times requests, and those that the server ended to protect itself. */
export const withMetrics =
  (metrics: RequestMetrics, clock: Clock): Filter<Received, Received, ApiResponse, Answer> =>
  next =>
  received =>
    andThen(next(received), ({response, error}) => {
      const {request, info, times} = received;
      const isRejected = error instanceof TooManyRequests;
      if (isRejected || error instanceof DeadlineExceeded) metrics.terminated(info, response.status);
      if (isRejected) return metrics.rejected(request, info, response);
      return metrics.finished(request, info, response, (clock.monotonic() - times.startedAt) / 1000, times);
    });
