import type {VersionInfo} from '#src/api/version.js';
import {plainJson} from '#src/apiserver/request/media-type.js';
import type {Route} from '#src/apiserver/routes.js';
import {encoded} from './encode.js';

/** What release the server speaks, for clients that decide by it. Those made from its OpenAPI document ask with a slash at the end. */
export const versionRoutes = (version: VersionInfo): readonly Route[] =>
  ['/version', '/version/'].map((path, at) => ({
    path,
    methods: ['get'],
    hidden: at > 0,
    handler: () => ({status: 200, headers: {}, body: encoded(plainJson, () => version, true)}),
  }));
