// Errors become responses in two places: those of handlers directly around the handler, and those of filters outside of
// all filters that refuse requests.

import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {insufficientStorage, internalError, serviceUnavailable, StatusError, type Status} from '#src/api/status.js';
import {andThen, settle, type Eventually} from '#src/base/eventually.js';
import {encoded} from '#src/apiserver/handlers/encode.js';
import {errorFormat, type ResponseEncodings} from '#src/apiserver/handlers/resource.js';
import {codecsFor} from '#src/apiserver/request/media-type.js';
import {PlainRefusal} from '#src/apiserver/request/plain-refusal.js';
import {requestTimeout} from '#src/apiserver/request/timeout.js';
import {StoreClosed, StoreFull, StoreTimeout} from '#src/storage/errors.js';
import type {Answer, Filter} from './filter.js';
import type {Entered, Received} from './stages.js';

interface Failures {
  readonly encodings: ResponseEncodings;
  /** Called for failures that are the server's own fault. */
  failed(error: unknown, request: ApiRequest): void;
}

/** Answers with the errors of handlers. */
export const withHandlerErrors =
  (failures: Failures): Filter<Entered, Entered, Answer, ApiResponse> =>
  next =>
  entered =>
    settle(
      () => next(entered),
      response => ({response}),
      error => failure(failures, entered.request, error),
    );

/** Answers with the refusals of the filters that follow. As the original's, they forbid guessing their type. */
export const withRefusals =
  (failures: Failures): Filter<Received, Received> =>
  next =>
  received =>
    settle(
      () => next(received),
      answer => answer,
      error => refusal(failures, received.request, error),
    );

/** The answer to a request that no handler has seen. */
export const refusal = (failures: Failures, request: ApiRequest, error: unknown): Eventually<Answer> =>
  andThen(failure(failures, request, error), answer => {
    const {status, headers} = answer.response;
    if (error instanceof StatusError && (status === 400 || status === 403)) headers['X-Content-Type-Options'] = 'nosniff';
    return answer;
  });

const failure = ({encodings, failed}: Failures, request: ApiRequest, error: unknown): Eventually<Answer> =>
  andThen(codecsFor(request, encodings), () => {
    if (error instanceof PlainRefusal) return {response: error.response(), error};
    const refused = refusalOf(error);
    if (!refused) failed(error, request);
    return {response: statusResponse(refused ?? failureOf(error), request, encodings), error};
  });

/** The Status of an error that is not the server's fault. */
const refusalOf = (error: unknown): Status | undefined => {
  if (error instanceof StatusError) return error.status;
  if (error instanceof StoreClosed) return serviceUnavailable('the server has stopped').status;
  // The store logs once that it is full.
  if (error instanceof StoreFull) return insufficientStorage(error).status;
  return undefined;
};

/**
 * The Status of any other error. The reason of a timeout is logged; what the store's servers say is not for clients.
 */
const failureOf = (error: unknown): Status => (error instanceof StoreTimeout ? requestTimeout() : internalError(error)).status;

/** The response that carries a Status, in the requested form. */
const statusResponse = (status: Status, request: ApiRequest, encodings: ResponseEncodings): ApiResponse => {
  const {accepted, pretty} = errorFormat(request, encodings);
  const retryAfter = status.details?.retryAfterSeconds;
  return {
    status: status.code ?? 500,
    headers: retryAfter ? {'Retry-After': String(retryAfter)} : {},
    body: encoded(accepted, () => status, pretty),
    outcome: status,
  };
};
