import {servicesOfSliceChange, type SliceNames} from '#controllers/shared/endpoints/endpoint-slices.js';
import {servicesOfPodChange, type Service} from '#controllers/shared/endpoints/services.js';
import type {SliceTracker} from '#controllers/shared/endpoints/slice-tracker.js';
import type {Lister} from '#informers/lister.js';
import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isReadyNode} from '#src/model/node-readiness.js';
import {singletonKey, type KeyedContext} from '#src/runtime/controller.js';
import type {Options} from './options.js';
import {zoneOf} from './zones.js';

/** The delay after changes of slices by other clients, which may be many. */
const sliceDelayMs = 1000;

interface QueueParts {
  readonly services: Lister<Service>;
  readonly names: SliceNames;
  readonly tracker: SliceTracker;
}

/** Queues services after changes of them, their pods and their slices, and the topology after changes of nodes. */
export const queueServices = ({listen, enqueue, naming, options}: KeyedContext<Options>, {services, names, tracker}: QueueParts): void => {
  const batchMs = options.endpointsliceUpdatesBatchPeriod;
  listen(kinds.services, ({object}) => enqueue(keyOf(object), {loop: 'services'}));
  listen(kinds.pods, change => {
    for (const key of servicesOfPodChange(change, services)) enqueue(key, {loop: 'services', afterMs: batchMs});
  });
  listen(kinds.endpointSlices, change => {
    for (const key of servicesOfSliceChange(change, {words: names, manager: names.controllerName, tracker}))
      enqueue(key, {loop: 'services', afterMs: Math.max(sliceDelayMs, batchMs)});
  });
  listen(kinds.nodes, change => {
    const same =
      change.type === 'updated' &&
      isReadyNode(change.old) === isReadyNode(change.object) &&
      zoneOf(change.old, naming) === zoneOf(change.object, naming);
    if (!same) enqueue(singletonKey, {loop: 'topology'});
  });
};
