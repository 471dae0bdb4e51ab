import {kinds} from '#src/api/kinds.js';
import {defineController, sameKey} from '#src/runtime/controller.js';
import {ttlReconciler} from './reconcile.js';

/** Tells each node by an annotation how long it may believe what it read, which is longer the more nodes there are to ask. */
export default defineController({
  doc: 'Annotates nodes with the seconds for which they may keep secrets and config maps they have read.',
  name: 'ttl-controller',
  serviceAccount: 'ttl-controller',
  queue: {name: 'ttlcontroller'},
  workers: 5,
  watches: [sameKey(kinds.nodes, ({type}) => type !== 'deleted')],
  create: ttlReconciler,
});
