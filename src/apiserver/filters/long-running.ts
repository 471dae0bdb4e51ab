import type {ApiResponse} from '#src/api/request.js';
import {andThen} from '#src/base/eventually.js';
import type {LongRunningResponses} from '#src/apiserver/request/long-running.js';
import {isLongRunning} from '#src/apiserver/request/request-info.js';
import type {Filter} from './filter.js';
import type {Received} from './stages.js';

/** Tracks long-running responses other than watches, which a server that shuts down has to end. */
export const withLongRunning =
  (responses: LongRunningResponses): Filter<Received, Received, ApiResponse> =>
  next =>
  received =>
    andThen(next(received), response =>
      isStreaming(response) && isLongRunning(received.info) ? responses.follow(response, received.info) : response,
    );

const isStreaming = ({body: {kind}}: ApiResponse): boolean => kind === 'stream' || kind === 'upgrade';
