import {release} from '#src/api/version.js';

/** The release in user agents: major and minor. */
export const versionText = release.split('.').slice(0, 2).join('.');
