import type {ApiRequest} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import type {Impersonation} from '#src/apiserver/authentication/impersonation.js';
import {attributesOf} from '#src/apiserver/request/request-info.js';
import type {Answer, Filter} from './filter.js';
import type {Identified} from './stages.js';

/** Serves a request as the user that its impersonation headers name, if its own user may. Refuses with 403. */
export const withImpersonation =
  (impersonation: Impersonation, clock: Clock): Filter<Identified, Identified> =>
  next => {
    const impersonated = async (identified: Identified): Promise<Answer> => {
      const {request, info, user: requester, times, trail} = identified;
      const startedAt = clock.monotonic();
      const {user, constraint} = await impersonation.of(request, attributesOf(requester, info));
      times.impersonation = [startedAt, clock.monotonic()];
      if (user !== requester) trail?.impersonated(user, constraint);
      return next(identified.identified(user, identified.notes));
    };
    return identified => (requestsImpersonation(identified.request.headers) ? impersonated(identified) : next(identified));
  };

/** Whether a request has impersonation headers. */
const requestsImpersonation = (headers: ApiRequest['headers']): boolean => {
  for (const name in headers) if (name.startsWith('impersonate-')) return true;
  return false;
};
