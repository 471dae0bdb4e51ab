import {wellKnown} from '#src/api/user.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';

/** The context of the server's own writes. */
export const ownWrites = (served: Kind, naming: Naming): WriteContext => ({
  user: {name: wellKnown.server, groups: ['system:masters', 'system:authenticated']},
  manager: naming.component('apiserver'),
  dryRun: false,
  served,
  warn: () => undefined,
});
