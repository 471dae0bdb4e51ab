import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Namespace} from '#src/api/types.js';
import {defineController, every, mapped} from '#src/runtime/controller.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {namespaceReconciler} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentNamespaceSyncs' | 'namespaceSyncPeriod'>;

/**
 * Gives other API servers time to observe that the namespace is terminating: what they create until then is deleted
 * too.
 */
const graceMs = 5_000;

const terminating = (namespace: Frozen<Namespace>) =>
  namespace.metadata?.deletionTimestamp ? [{key: keyOf(namespace), afterMs: graceMs}] : [];

/**
 * Deletes the content of deleted namespaces: pods first, then all other namespaced resources. When nothing is left, the
 * namespace is finalized. What blocks it is reported in its conditions.
 */
export default defineController<Options>({
  doc: 'Deletes the content of terminating namespaces, and then removes their finalizer.',
  name: 'namespace-controller',
  serviceAccount: 'namespace-controller',
  configuration: {
    NamespaceController: {NamespaceSyncPeriod: 'namespace-sync-period', ConcurrentNamespaceSyncs: 'concurrent-namespace-syncs'},
  },
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
