import {isPending} from '#src/base/eventually.js';
import {discard} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {Deadlines, deadlineOf, RequestDeadline} from '#src/apiserver/request/deadline.js';
import type {Answer, Filter} from './filter.js';
import type {Received, Timed} from './stages.js';

/** Answers requests over a network with 504 at their deadline, except long-running ones. */
export const withDeadline = (clock: Clock, requestTimeoutMs: number): Filter<Received, Timed> => {
  const deadlines = new Deadlines(clock);
  return next => received => {
    const {request, info, times} = received;
    const deadline = new RequestDeadline(deadlineOf(info, requestTimeoutMs), times.startedAt, request.inProcess === true);
    const answer = next(received.timed(deadline));
    if (!isPending(answer) || request.inProcess) return answer;
    return deadlines.within(deadline.ms, answer, discardLate, () => deadline.onExpired());
  };
};

/** Discards an answer that was ready after the deadline. */
const discardLate = ({response}: Answer): void => {
  response.delivery?.[Symbol.dispose]();
  discard(response);
};
