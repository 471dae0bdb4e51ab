import {defineLongRunning} from '#src/runtime/controller.js';
import {garbageCollector, type GarbageCollectorOptions} from './run.js';

/**
 * Deletes objects whose owners have gone. It knows of owners by their references alone, over every resource that discovery tells of, so custom resources
 * own and are owned like all others. An owner can be deleted before its dependents, after them, or without them: its finalizers say which.
 */
export default defineLongRunning<GarbageCollectorOptions>({
  doc: 'Deletes objects whose owners were deleted, before or after them, or parts them from their owners.',
  name: 'garbage-collector-controller',
  serviceAccount: 'generic-garbage-collector',
  flags: ['enable-garbage-collector', 'concurrent-gc-syncs'],
  enabled: ({enableGarbageCollector}) => enableGarbageCollector || 'it is turned off by --enable-garbage-collector',
  // Each deletion takes a look before.
  clientLimits: {qpsFactor: 2, burstFactor: 1},
  create: garbageCollector,
});
