import {notAcceptable} from '#src/api/status.js';
import type {VersionInfo} from '#src/api/version.js';
import {header} from '#src/apiserver/request/context.js';
import {plainJson} from '#src/apiserver/request/media-type.js';
import type {Route} from '#src/apiserver/routes.js';
import {namedClauses} from '#src/serving/accept.js';
import {encoded} from './encode.js';

const media = ['application/json'];

/** What release the server speaks, for clients that decide by it. Those made from its OpenAPI document ask with a slash at the end. */
export const versionRoutes = (version: VersionInfo): readonly Route[] =>
  ['/version', '/version/'].map((path, at) => ({
    path,
    methods: ['get'],
    hidden: at > 0,
    handler: ({request}) => {
      const accept = header(request, 'accept');
      if (accept && namedClauses(accept, media).length === 0) throw notAcceptable(media);
      return {status: 200, headers: {}, body: encoded(plainJson, () => version, true)};
    },
  }));
