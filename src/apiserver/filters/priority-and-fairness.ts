import type {Naming} from '#src/api/naming.js';
import {andThen, settle} from '#src/base/eventually.js';
import {traced} from '#src/base/span.js';
import {Entry, type RequestLimits} from '#src/apiserver/flowcontrol/entry.js';
import {noAttributes} from './tracing.js';
import type {Filter} from './filter.js';
import type {Entered, Identified} from './stages.js';

/**
 * Lets requests wait until flow control executes them, or counts them within the limits of requests in flight. Refuses
 * with 429 when there are too many. A request keeps its place until its response is sent.
 */
export const withPriorityAndFairness =
  (naming: Naming, limits: RequestLimits): Filter<Identified, Entered> =>
  next =>
  identified => {
    const entry = new Entry(limits, identified);
    identified.flowLogFields = () => entry.logFields;
    identified.deadline.onExpired = () => entry.stopReading();
    return settle(
      () => {
        const place = entry.enter();
        const {ready} = place;
        const waiting = limits.flowControl ? traced('priorityandfairness', noAttributes, () => ready) : ready;
        return andThen(waiting, () => next(identified.entered(place)));
      },
      answer => {
        entry.addHeaders(naming, answer.response.headers);
        entry.answered(answer);
        return answer;
      },
      error => {
        entry.addHeaders(naming, identified.headers);
        entry.leave();
        throw error;
      },
    );
  };
