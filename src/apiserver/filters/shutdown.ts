import type {ApiRequest} from '#src/api/request.js';
import {PlainRefusal} from '#src/apiserver/request/plain-refusal.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import type {Filter} from './filter.js';
import type {Timed} from './stages.js';

/** Refuses new requests with 429 while the server shuts down; the client retries with another server. */
export const withShutdown =
  (draining: {readonly rejects: boolean}): Filter<Timed, Timed> =>
  next =>
  timed => {
    if (draining.rejects && !isServedDuringShutdown(timed.request, timed.info)) throw refusal();
    return next(timed);
  };

/** Health, metrics, and the server's own components. */
const isServedDuringShutdown = ({inProcess}: ApiRequest, {path}: RequestInfo): boolean =>
  inProcess === true || /^\/(healthz|livez|readyz|metrics)(\/|$)/.test(path);

const refusal = (): PlainRefusal =>
  new PlainRefusal(429, 'The apiserver is shutting down, please try again later.', {'Retry-After': '5', Connection: 'close'});
