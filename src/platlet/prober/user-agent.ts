import {release} from '#src/api/version.js';
import type {Naming} from '#src/api/naming.js';

/** Returns the User-Agent of requests to containers, by probes or by hooks. */
export const userAgent = (naming: Naming, sender: 'probe' | 'lifecycle'): string =>
  `${naming.component(sender)}/${release.split('.').slice(0, 2).join('.')}`;
