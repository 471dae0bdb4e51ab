// Opens watches: refuses what cannot be watched, and finds the state that a stream begins with. The stream itself is in
// `stream.ts`.

import type {ApiResponse} from '#src/api/request.js';
import {statusError} from '#src/api/status.js';
import {chunkBytes, waitForRevision, scopeOf} from '#src/apiserver/registry/read/list.js';
import {readChunks} from '#src/apiserver/registry/read/chunks.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import {WatchStream} from './stream.js';
import type {WatchRequest, WatchSettings, WatchStart} from './request.js';

/**
 * Opens a watch. All refusals happen here, before the stream begins; compacted history becomes an ERROR event of the
 * stream (the API reference, efficient detection of changes).
 */
export const watchObjects = async (resource: Resource, request: WatchRequest, settings: WatchSettings): Promise<ApiResponse> => {
  const start = await startOf(resource, request);
  return {
    status: 200,
    headers: {},
    body: {
      kind: 'watch',
      contentType: request.representation.accepted.contentType,
      start: sink => new WatchStream(resource, request, settings, start, sink),
    },
  };
};

const startOf = async (resource: Resource, {namespace, filter, options, representation: {raw}}: WatchRequest): Promise<WatchStart> => {
  const {store} = resource.settings;
  const {resourceVersion: requestedVersion, sendInitialEvents, match, timeoutSeconds} = options;
  // The latest version is asked for first, and there is no time left for it.
  if (requestedVersion === undefined && timeoutSeconds !== undefined && timeoutSeconds < 0)
    return {after: 0, from: 0, initial: undefined, marksEnd: false, refusal: statusError('InternalError', 'context deadline exceeded')};
  const wantsInitial = sendInitialEvents ?? (match === '' && !requestedVersion);
  if (!wantsInitial) {
    const current = await store.revision();
    return {
      after: requestedVersion || current,
      from: requestedVersion ? Math.min(requestedVersion, current) : current,
      initial: undefined,
      marksEnd: false,
    };
  }
  try {
    if (requestedVersion) await waitForRevision(resource, requestedVersion);
  } catch (refusal) {
    return {after: 0, from: 0, initial: undefined, marksEnd: false, refusal};
  }
  const bytes = raw && filter.all ? chunkBytes.raw : chunkBytes.parsed;
  const rest = readChunks(resource, {...scopeOf(resource, namespace, filter), limit: 0, revision: undefined, filter, bytes});
  const initial = (await rest.next()).value!;
  const {revision} = initial;
  return {after: revision, from: revision, initial, rest, marksEnd: sendInitialEvents === true && options.bookmarks};
};
