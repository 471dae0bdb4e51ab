import type {ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {andThen} from '#src/base/eventually.js';
import {DeadlineExceeded} from '#src/apiserver/request/deadline.js';
import type {BodySizes} from '#src/apiserver/request/body-sizes.js';
import type {RequestMetrics} from '#src/apiserver/request/metrics.js';
import {TooManyRequests} from '#src/apiserver/request/plain-refusal.js';
import type {Answer, Filter} from './filter.js';
import type {Received} from './stages.js';

export interface MeasuredRequests {
  readonly requests: RequestMetrics;
  readonly bodySizes: BodySizes;
}

/** Counts and times requests, and those that the server ended to protect itself. */
export const withMetrics =
  ({requests, bodySizes}: MeasuredRequests, clock: Clock): Filter<Received, Received, ApiResponse, Answer> =>
  next =>
  received =>
    andThen(next(received), ({response, error}) => {
      const {request, info, times} = received;
      bodySizes.record(request, info, response);
      const isRejected = error instanceof TooManyRequests;
      if (isRejected || error instanceof DeadlineExceeded) requests.terminated(info, response.status);
      if (isRejected) return requests.rejected(request, info, response);
      return requests.finished(request, info, response, (clock.monotonic() - times.startedAt) / 1000, times);
    });
