import type {Attributes, Authorizer, Decision} from '#src/api/authorization.js';
import type {Clock} from '#src/base/clock.js';
import {andThen, observe, type Eventually} from '#src/base/eventually.js';
import {traced} from '#src/base/span.js';
import type {AccessMetrics} from './access-metrics.js';
import {internalRefusal} from '#src/apiserver/request/plain-refusal.js';
import {attributesOf} from '#src/apiserver/request/request-info.js';
import type {RequestLog} from './log.js';
import {denial} from '#src/serving/authorizers/denial.js';
import {noAttributes} from './tracing.js';
import type {Filter} from './filter.js';
import type {Entered} from './stages.js';

/**
 * Refuses requests with 403 unless the authorizer allows them. Errors of authorizers are shown only if none allows the
 * request.
 */
export const withAuthorization =
  (
    authorizer: Authorizer,
    {metrics, clock, log}: {readonly metrics: AccessMetrics; readonly clock: Clock; readonly log: RequestLog | undefined},
  ): Filter<Entered, Entered> =>
  next => {
    const decide = (attributes: Attributes, {times, trail}: Entered): Eventually<Decision> => {
      const startedAt = clock.monotonic();
      return observe(
        () => authorizer.authorize(attributes),
        decision => {
          metrics.authorized(decision, startedAt);
          if (trail) times.authorizationMs = clock.monotonic() - startedAt;
        },
        () => {
          metrics.authorizationFailed(startedAt);
          trail?.notAuthorized();
        },
      );
    };
    return entered => {
      const attributes = attributesOf(entered.user, entered.info);
      return andThen(
        traced('authorization', noAttributes, () => decide(attributes, entered)),
        decision => {
          entered.trail?.authorized(decision);
          if (decision.decision === 'allow') return next(entered);
          if (decision.error !== undefined) throw internalRefusal(entered.request.url, decision.error);
          log?.denied(attributes, decision);
          throw denial(attributes, decision.reason);
        },
      );
    };
  };
