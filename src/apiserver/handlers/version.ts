import {header} from '#src/api/request.js';
import {notAcceptable} from '#src/api/status.js';
import type {VersionInfo} from '#src/api/version.js';
import {plainJson} from '#src/apiserver/request/media-type.js';
import type {Route} from './route.js';
import {namedClauses} from '#src/serving/accept.js';
import {encoded} from './encode.js';

const media = ['application/json'];

/** The server's version. Clients generated from its OpenAPI document request it with a trailing slash. */
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
