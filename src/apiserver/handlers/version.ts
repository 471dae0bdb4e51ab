import type {VersionInfo} from '#src/api/version.js';
import {plainJson} from '#src/apiserver/request/media-type.js';
import type {Route} from '#src/apiserver/routes.js';
import {encoded} from './encode.js';

/** What release the server speaks, for clients that decide by it. */
export const versionRoute = (version: VersionInfo): Route => ({
  path: '/version',
  methods: ['get', 'head'],
  handler: () => ({status: 200, headers: {}, body: encoded(plainJson, () => version, true)}),
});
