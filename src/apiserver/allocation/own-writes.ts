import type {Kind} from '#src/api/kinds.js';
import type {WriteContext} from '#src/apiserver/registry/registry.js';

/** How the server itself writes. */
export const ownWrites = (served: Kind): WriteContext => ({
  user: {name: 'system:apiserver', groups: ['system:masters', 'system:authenticated']},
  dryRun: false,
  served,
  warn: () => undefined,
});
