import type {EndpointSlice} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Service} from '#controllers/shared/endpoints/services.js';
import type {SliceTracker} from '#controllers/shared/endpoints/slice-tracker.js';
import type {TriggerTimes} from '#controllers/shared/endpoints/trigger-times.js';
import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {messageOf} from '#src/base/message.js';
import {Expected} from '#src/runtime/controller.js';
import type {SliceMetrics} from './metrics.js';
import type {ServiceSlices} from './service-slices.js';

interface SyncParts {
  readonly events: EventRecorder;
  readonly serviceSlices: ServiceSlices;
  readonly tracker: SliceTracker;
  readonly times: TriggerTimes;
  readonly metrics: SliceMetrics;
  /** The slices of a service that are not being deleted. */
  existing(key: ObjectKey): readonly Frozen<EndpointSlice>[];
  selected(service: Frozen<Service>): readonly Frozen<Pod>[];
}

/** Returns what writes the slices of a service, unless the cache lacks what was written before. */
export const sliceSync =
  ({events, serviceSlices, tracker, times, metrics, existing, selected}: SyncParts) =>
  async (key: ObjectKey, service: Frozen<Service>): Promise<void> => {
    const slices = existing(key);
    if (tracker.isStale(key, slices)) {
      metrics.synced('stale');
      throw new Expected('EndpointSlice informer cache is out of date');
    }
    const pods = selected(service);
    try {
      await serviceSlices.sync(service, pods, slices, times.next(service, pods));
    } catch (error) {
      metrics.synced('error');
      const message = `Error updating Endpoint Slices for Service ${keyText(key)}: ${messageOf(error)}`;
      events.warning(service, 'FailedToUpdateEndpointSlices', message);
      throw error;
    }
    metrics.synced('success');
  };
