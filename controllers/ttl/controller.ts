import {kinds} from '#src/api/kinds/index.js';
import {defineController, sameKey} from '#src/runtime/controller.js';
import {ttlReconciler} from './reconcile.js';

/** Annotates each node with how long it may cache objects, which increases with the number of nodes. */
export default defineController({
  doc: 'Annotates nodes with the TTL for which they may cache secrets and config maps.',
  name: 'ttl-controller',
  serviceAccount: 'ttl-controller',
  queue: {name: 'ttlcontroller'},
  workers: 5,
  watches: [sameKey(kinds.nodes, ({type}) => type !== 'deleted')],
  create: ttlReconciler,
});
