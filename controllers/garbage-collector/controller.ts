import {defineLongRunning} from '#src/runtime/controller.js';
import {garbageCollector, type GarbageCollectorOptions} from './run.js';

/**
 * Deletes objects whose owners are gone. It works on owner references alone, over every resource in discovery,
 * including custom resources. An owner is deleted before its dependents, after them, or without them, according to its
 * finalizers.
 */
export default defineLongRunning<GarbageCollectorOptions>({
  doc: 'Deletes or orphans dependents of deleted owners, in the foreground or the background.',
  name: 'garbage-collector-controller',
  serviceAccount: 'generic-garbage-collector',
  configuration: {
    GarbageCollectorController: {EnableGarbageCollector: 'enable-garbage-collector', ConcurrentGCSyncs: 'concurrent-gc-syncs'},
  },
  enabled: ({enableGarbageCollector}) => enableGarbageCollector || 'it is turned off by --enable-garbage-collector',
  // Each deletion is preceded by a live read.
  clientLimits: {qpsFactor: 2, burstFactor: 1},
  create: garbageCollector,
});
