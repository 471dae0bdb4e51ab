import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {Frozen} from '#src/api/key.js';
import type {Namespace} from '#src/api/types.js';
import {defineController, every, mapped} from '#src/runtime/controller.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import {namespaceReconciler} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentNamespaceSyncs' | 'namespaceSyncPeriod'>;

/** Gives other API servers the time to learn that the namespace ends: what they create until then is found and deleted too. */
const graceMs = 5_000;

const terminating = (namespace: Frozen<Namespace>) => (namespace.metadata?.deletionTimestamp ? [{key: keyOf(namespace), afterMs: graceMs}] : []);

/**
 * Empties namespaces that were deleted: pods first, then everything else the server knows to have names in namespaces. When nothing is left, the
 * namespace is let go. What stands in the way is told in its conditions.
 */
export default defineController<Options>({
  doc: 'Deletes everything in a namespace that was deleted, and then lets the namespace go.',
  name: 'namespace-controller',
  serviceAccount: 'namespace-controller',
  flags: ['concurrent-namespace-syncs', 'namespace-sync-period'],
  clientLimits: {qpsFactor: 20, burstFactor: 100},
  queue: {name: 'namespace', maxDelayMs: 60_000},
  workers: options => options.concurrentNamespaceSyncs,
  reads: [kinds.namespaces],
  watches: [
    mapped(kinds.namespaces, ({type, object}) => (type === 'deleted' ? [] : terminating(object))),
    every(
      (options: Options) => options.namespaceSyncPeriod,
      ({lister}) => lister(kinds.namespaces).list().flatMap(terminating),
    ),
  ],
  create: namespaceReconciler,
});
